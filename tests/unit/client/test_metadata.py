"""Topics, leaders and their epochs; when metadata is asked for."""

import random
from typing import Any
from uuid import UUID

import attrs
import pytest

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import Metadata, MetadataManager, Node
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest
from kafka_groups.errors import ConfigurationError, DisconnectedError, TopicAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH, LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.metadata import (
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.types import TopicIdPartition

ORDERS, AGAIN = UUID(int=1), UUID(int=2)


def topic(
    name: str = "orders", topic_id: UUID | None = ORDERS, leaders: tuple[tuple[int, int], ...] = ((1, 5),), **more: Any
) -> MetadataResponseTopic:
    partitions = tuple(
        MetadataResponsePartition(partition_index=i, leader_id=leader, leader_epoch=epoch)
        for i, (leader, epoch) in enumerate(leaders)
    )
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions, **more)


def response(*topics: MetadataResponseTopic, throttle_time_ms: int = 0) -> MetadataResponse:
    brokers = tuple(MetadataResponseBroker(node_id=n, host=f"b{n}", port=9092) for n in (1, 2))
    return MetadataResponse(brokers=brokers, topics=topics, throttle_time_ms=throttle_time_ms)


class TestMetadata:
    def test_takes_over_names_leaders_and_addresses(self) -> None:
        metadata = Metadata()
        metadata.apply(response(topic(leaders=((1, 5), (2, 3)))))

        assert metadata.name_of(ORDERS) == "orders"
        assert [metadata.leader_of(TopicIdPartition(ORDERS, p)) for p in (0, 1, 2)] == [1, 2, None]
        assert metadata.nodes[2].host == "b2"

    def test_an_earlier_leader_epoch_is_ignored_and_a_later_one_taken(self) -> None:
        metadata, partition = Metadata(), TopicIdPartition(ORDERS, 0)
        metadata.apply(response(topic(leaders=((1, 5),))))
        version = metadata.version
        metadata.apply(response(topic(leaders=((2, 4),))))
        assert (metadata.leader_of(partition), metadata.version) == (1, version)
        metadata.apply(response(topic(leaders=((2, 6),))))
        assert metadata.leader_of(partition) == 2
        assert metadata.version > version

    def test_the_same_again_is_no_change(self) -> None:
        metadata = Metadata()
        metadata.apply(response(topic()))
        version = metadata.version
        metadata.apply(response(topic()))
        assert metadata.version == version

    def test_a_partition_without_leader_has_none(self) -> None:
        metadata = Metadata()
        metadata.apply(response(topic(leaders=((-1, 6),))))
        assert metadata.leader_of(TopicIdPartition(ORDERS, 0)) is None

    def test_a_topic_created_again_has_another_id_and_the_old_one_no_name(self) -> None:
        metadata = Metadata()
        metadata.apply(response(topic(leaders=((1, 50),))))
        version = metadata.version
        metadata.apply(response(topic(topic_id=AGAIN, leaders=((2, 0),))))

        assert metadata.name_of(ORDERS) is None
        assert metadata.name_of(AGAIN) == "orders"
        assert metadata.leader_of(TopicIdPartition(AGAIN, 0)) == 2
        assert metadata.version > version

    def test_a_topic_with_an_error_changes_nothing(self) -> None:
        metadata = Metadata()
        metadata.apply(response(topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        assert metadata.name_of(ORDERS) is None

    def test_a_topic_is_known_by_its_name_with_id_and_number_of_partitions(self) -> None:
        metadata = Metadata()
        assert (metadata.id_of("orders"), metadata.partition_count("orders")) == (None, None)
        metadata.apply(response(topic(leaders=((1, 5), (2, 3)))))
        assert (metadata.id_of("orders"), metadata.partition_count("orders")) == (ORDERS, 2)
        metadata.apply(response(topic(topic_id=AGAIN, leaders=((2, 0), (1, 0), (1, 0)))))
        assert (metadata.id_of("orders"), metadata.partition_count("orders")) == (AGAIN, 3)

    def test_the_leader_epoch_is_that_of_the_latest_leader_also_of_a_hint(self) -> None:
        metadata, partition = Metadata(), TopicIdPartition(ORDERS, 0)
        assert metadata.epoch_of(partition) == NO_LEADER_EPOCH
        metadata.apply(response(topic(leaders=((1, 5),))))
        assert metadata.epoch_of(partition) == 5
        metadata.apply_hint(partition, LeaderIdAndEpoch(leader_id=2, leader_epoch=6), ())
        metadata.apply(response(topic(leaders=((1, 5),))))
        assert (metadata.leader_of(partition), metadata.epoch_of(partition)) == (2, 6)

    def test_a_partition_that_lost_its_leader_keeps_the_epoch(self) -> None:
        metadata, partition = Metadata(), TopicIdPartition(ORDERS, 0)
        metadata.apply(response(topic(leaders=((-1, 6),))))
        assert (metadata.leader_of(partition), metadata.epoch_of(partition)) == (None, 6)

    def test_a_missing_topic_is_told_from_an_unknown_one_and_keeps_what_was_known(self) -> None:
        metadata = Metadata()
        assert not metadata.is_missing("orders")
        metadata.apply(response(topic()))
        metadata.apply(response(topic(topic_id=None, leaders=(), error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        assert metadata.is_missing("orders")
        assert (metadata.id_of("orders"), metadata.partition_count("orders")) == (ORDERS, 1)
        metadata.apply(response(topic(topic_id=AGAIN)))
        assert not metadata.is_missing("orders")

    def test_the_error_of_a_topic_is_that_of_the_last_response_that_names_it(self) -> None:
        metadata = Metadata()
        assert metadata.error_of("orders") is ErrorCode.NONE
        metadata.apply(response(topic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        metadata.apply(response(topic("other", AGAIN)))
        assert metadata.error_of("orders") is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert not metadata.is_missing("orders")
        metadata.apply(response(topic()))
        assert metadata.error_of("orders") is ErrorCode.NONE

    def test_the_address_of_a_coordinator_leaves_its_rack_as_it_is(self) -> None:
        metadata = Metadata()
        metadata.note_address(1, "b1", 9)
        assert (metadata.rack_of(1), metadata.rack_of(2)) == (None, None)
        metadata.apply(MetadataResponse(brokers=(MetadataResponseBroker(node_id=1, host="b1", port=9, rack="r1"),)))
        metadata.note_address(1, "b1.example", 10)
        assert metadata.nodes[1] == Node(1, "b1.example", 10, "r1")
        assert metadata.rack_of(1) == "r1"

    def test_a_hint_brings_leader_and_address(self) -> None:
        metadata, partition = Metadata(), TopicIdPartition(ORDERS, 0)
        metadata.apply(response(topic()))
        hint = LeaderIdAndEpoch(leader_id=9, leader_epoch=6)

        assert metadata.apply_hint(partition, hint, [NodeEndpoint(node_id=9, host="b9", port=1)])
        assert metadata.leader_of(partition) == 9
        assert metadata.nodes[9].host == "b9"

    @pytest.mark.parametrize(
        ("leader_id", "leader_epoch"), [(-1, -1), (2, 4), (1, 5), (7, 6)], ids=["none", "older", "known", "no address"]
    )
    def test_a_hint_that_says_nothing_new_is_none(self, leader_id: int, leader_epoch: int) -> None:
        metadata, partition = Metadata(), TopicIdPartition(ORDERS, 0)
        metadata.apply(response(topic()))
        assert not metadata.apply_hint(partition, LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch), ())
        assert metadata.leader_of(partition) == 1

    def test_brokers_of_another_cluster_are_refused_before_anything_of_them_is_stored(self) -> None:
        metadata = Metadata()
        one, other = (_of_cluster(name, port) for name, port in (("one", 9092), ("other", 9192)))
        metadata.check_cluster(one)
        metadata.check_cluster(attrs.evolve(one, brokers=()))
        metadata.check_cluster(attrs.evolve(other, error_code=ErrorCode.REBOOTSTRAP_REQUIRED))
        with pytest.raises(
            ConfigurationError, match=r"different clusters: b:9092 \(cluster one\) and b:9192 \(cluster other\)"
        ):
            metadata.check_cluster(other)
        metadata.check_cluster(one)


def _of_cluster(name: str, port: int) -> MetadataResponse:
    return MetadataResponse(cluster_id=name, brokers=(MetadataResponseBroker(node_id=1, host="b", port=port),))


class Managed:
    """A manager with its surroundings."""

    def __init__(self, *, allow_auto_create: bool = False) -> None:
        self.errors = BackgroundErrors()
        self.manager = MetadataManager(
            Metadata(),
            self.errors,
            max_age_ms=300_000,
            timeout_ms=30_000,
            backoff=BackoffTimer(100, 1000, random.Random(3)),
            allow_auto_create=allow_auto_create,
        )

    def request(self, now_ms: int) -> OutgoingRequest:
        (request,) = self.manager.poll(now_ms).requests
        return request

    def answer(self, request: OutgoingRequest, message: MetadataResponse, now_ms: int) -> None:
        self.manager.on_response(request, ClientResponse(message, 12, 1), now_ms)


def built(request: OutgoingRequest) -> Any:
    return request.build(12)


class TestMetadataManager:
    def test_asks_for_nothing_without_topics(self) -> None:
        managed = Managed()
        managed.manager.request_update()
        assert managed.manager.poll(0).requests == ()
        assert managed.manager.poll(0).wait_ms == NEVER_MS

    def test_asks_for_the_topics_in_order_without_creating_them(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["b", "a"])
        message: Any = managed.request(0).build(12)
        assert message.topics == (MetadataRequestTopic(name="a"), MetadataRequestTopic(name="b"))
        assert not message.allow_auto_topic_creation

    def test_versions_that_cannot_forbid_creation_do_not_try_to(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["a"])
        message: Any = managed.request(0).build(3)
        assert message.allow_auto_topic_creation

    def test_a_missing_topic_is_created_after_a_warning_names_it(self) -> None:
        managed = Managed(allow_auto_create=True)
        managed.manager.set_topics(["orders", "ordres"])
        first = managed.request(0)
        assert not built(first).allow_auto_topic_creation
        unknown = topic("ordres", None, (), error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        managed.answer(first, response(topic(), unknown), 0)
        [event] = managed.errors.events.take()
        assert event.text.startswith(
            "Topics do not exist, but the brokers create them if their settings allow it: ordres. If a"
        )
        again = managed.request(200)
        assert built(again).allow_auto_topic_creation
        managed.answer(again, response(topic(), topic("ordres", AGAIN)), 200)
        assert not managed.errors.events
        managed.manager.request_update()
        assert not built(managed.request(300)).allow_auto_topic_creation

    def test_one_request_at_a_time_and_the_next_at_the_maximum_age(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders"])
        request = managed.request(1_000)
        assert managed.manager.poll(1_000).requests == ()
        managed.answer(request, response(topic()), 2_000)
        result = managed.manager.poll(2_000)
        assert (result.requests, result.wait_ms) == ((), 300_000)
        managed.request(302_000)

    def test_an_update_wanted_while_one_is_under_way_is_not_forgotten(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders"])
        request = managed.request(0)
        managed.manager.set_topics(["orders", "more"])
        managed.answer(request, response(topic()), 10)

        message: Any = managed.request(10).build(12)
        assert [wanted.name for wanted in message.topics] == ["more", "orders"]

    @pytest.mark.parametrize(
        "answer",
        [
            response(topic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic_id=None)),
            response(topic(error_code=ErrorCode.LEADER_NOT_AVAILABLE)),
            response(
                MetadataResponseTopic(
                    name="orders",
                    topic_id=ORDERS,
                    partitions=(
                        MetadataResponsePartition(
                            partition_index=0, leader_id=-1, error_code=ErrorCode.LEADER_NOT_AVAILABLE
                        ),
                    ),
                )
            ),
        ],
        ids=["unknown topic", "topic not available", "no leader"],
    )
    def test_what_may_come_yet_is_asked_for_again_after_a_growing_back_off(self, answer: MetadataResponse) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders"])
        now_ms, requests = 0, 0
        while now_ms < 10_000:
            result = managed.manager.poll(now_ms)
            if result.requests:
                requests += 1
                managed.answer(result.requests[0], answer, now_ms)
            else:
                now_ms += result.wait_ms
        assert 8 <= requests <= 20
        assert not managed.errors

    @pytest.mark.parametrize("code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION])
    def test_what_only_the_application_can_mend_is_reported_and_not_asked_for_again(self, code: ErrorCode) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders", "secret"])
        answer = response(topic(), topic("secret", None, (), error_code=code))
        managed.answer(managed.request(0), answer, 0)

        assert managed.manager.poll(0).wait_ms == 300_000
        with pytest.raises(Exception, match="secret"):
            managed.errors.raise_first()
        assert managed.errors.fatal is None
        assert managed.manager.metadata.name_of(ORDERS) == "orders"

    def test_unauthorised_topics_have_their_own_error_class(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["x"])
        answer = response(topic("x", None, (), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        managed.answer(managed.request(0), answer, 0)
        with pytest.raises(TopicAuthorizationFailedError):
            managed.errors.raise_first()

    def test_a_lost_request_is_made_again_after_the_back_off(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders"])
        managed.manager.on_failure(managed.request(0), DisconnectedError("gone"), 0)
        wait_ms = managed.manager.poll(0).wait_ms
        assert 80 <= wait_ms <= 120
        managed.request(wait_ms)

    def test_the_throttle_time_is_kept(self) -> None:
        managed = Managed()
        managed.manager.set_topics(["orders"])
        managed.answer(managed.request(0), response(topic(), throttle_time_ms=700), 0)
        managed.manager.request_update()
        assert managed.manager.poll(0).wait_ms == 700


def test_a_broker_that_has_the_client_rebootstrap_makes_it_forget_all_brokers() -> None:
    metadata = Metadata()
    manager = MetadataManager(
        metadata,
        BackgroundErrors(),
        max_age_ms=300_000,
        timeout_ms=1_000,
        backoff=BackoffTimer(100, 1_000, random.Random(1)),
        allow_auto_create=True,
    )
    manager.set_topics(["t"])
    metadata.nodes[1] = Node(1, "old", 9)
    (request,) = manager.poll(0).requests
    manager.on_response(request, ClientResponse(MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED), 13, 1), 0)
    assert metadata.nodes == {}
    again = manager.poll(0)
    assert not again.requests
    assert 80 <= again.wait_ms <= 120
    assert manager.poll(200).requests
