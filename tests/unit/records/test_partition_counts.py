from collections.abc import Mapping

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.records.partition_counts import BlockingPartitionCounts, KnownPartitionCounts
from kafka_groups.testing import EmbeddedCluster


class Asked:
    """Answers one question after the other."""

    def __init__(self, *answers: Mapping[str, int]) -> None:
        self.answers = list(answers)

    def __call__(self) -> Mapping[str, int]:
        return self.answers.pop(0)


def test_what_is_known_is_not_asked_for() -> None:
    counts = KnownPartitionCounts(Asked())
    counts.update({"orders": 3})
    assert counts.of("orders") == 3


def test_a_topic_that_is_not_known_is_asked_for_until_it_exists() -> None:
    asked = Asked({}, {"new": 2})
    counts = KnownPartitionCounts(asked)
    assert [counts.of("new"), counts.of("new"), counts.of("new")] == [None, 2, 2]
    assert not asked.answers


def test_a_topic_that_vanishes_keeps_its_number_until_its_records_are_refused() -> None:
    counts = KnownPartitionCounts(Asked({"others": 1}, {"others": 1, "orders": 4}))
    counts.update({"orders": 3, "others": 1})
    counts.update({"others": 2})
    assert [counts.of("orders"), counts.of("others")] == [3, 2]
    counts.lose(["orders"])
    assert [counts.of("orders"), counts.of("orders"), counts.of("others")] == [None, 4, 1]


def test_an_error_is_told_and_the_next_call_asks_again() -> None:
    asked = Asked({"orders": 3})
    errors = [OperationTimeoutError("no answer")]

    def ask() -> Mapping[str, int]:
        if errors:
            raise errors.pop()
        return asked()

    counts = KnownPartitionCounts(ask)
    with pytest.raises(OperationTimeoutError):
        counts.of("orders")
    assert counts.of("orders") == 3


async def test_brokers_are_asked_while_the_event_loop_of_the_caller_stands_still() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("orders", 3)
        asking = BlockingPartitionCounts(admin_config(bootstrap_servers=cluster.bootstrap_servers), Environment())
        try:
            assert KnownPartitionCounts(asking).of("orders") == 3
            assert KnownPartitionCounts(asking).of("absent") is None
        finally:
            asking.close()


async def test_a_topic_that_may_not_be_described_is_told_apart_from_one_that_does_not_exist() -> None:
    with EmbeddedCluster() as cluster:
        asking = BlockingPartitionCounts(admin_config(bootstrap_servers=cluster.bootstrap_servers), Environment())
        try:
            assert not asking.is_denied("absent")
            denied = MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name="secret")
            cluster.faults.on(ApiKey.METADATA, answer(MetadataResponse(topics=(denied,))))
            assert asking.is_denied("secret")
        finally:
            asking.close()
