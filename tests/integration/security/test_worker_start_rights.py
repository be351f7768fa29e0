"""A worker that sets where its group begins needs to see and to change the group's configuration."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups import Worker
from kafka_groups.errors import ConfigurationError
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import SECRET, SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.slow, pytest.mark.real_kafka, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


def refusal(worker: Worker) -> str:
    """Why the start fails; a check says the same."""
    with pytest.raises(ConfigurationError) as caught, worker:
        pass
    (check,) = worker.check()
    assert str(caught.value) in check.errors
    return str(caught.value)


def test_each_missing_right_is_named_until_both_are_given(secured: SecuredKafka) -> None:
    topic, group = secured.create_topic(), unique("secured")
    keys = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}
    worker, handled = Worker(group, secured.keys("SASLTLS", keys), start="earliest"), list[bytes]()

    @worker.handler(topic)
    def handle(value: bytes) -> None:
        handled.append(value)

    secured.allow(ResourceType.TOPIC, topic, AclOperation.READ)
    secured.allow(ResourceType.GROUP, group, AclOperation.READ)
    assert f"User:ann needs DESCRIBE_CONFIGS on the group {group} (" in refusal(worker)
    secured.allow(ResourceType.GROUP, group, AclOperation.DESCRIBE_CONFIGS)
    command = f"kafka-groups groups configs {group} --set share.auto.offset.reset=earliest"
    assert f"--group {group} --operation ALTER_CONFIGS. Or have the start set with {command}." in refusal(worker)
    secured.allow(ResourceType.GROUP, group, AclOperation.ALTER_CONFIGS)
    with worker:
        wait_until(lambda: handled == [b"one"], 60)
