"""A writer with outcomes waits for the right to write."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups.errors import ClusterAuthorizationFailedError, TopicAuthorizationFailedError
from tests.support.kafka.secured_kafka import SECRET, SecuredKafka, running_secured_kafka
from tests.support.producing.confirming_program import ConfirmingProgram

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.real_kafka, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


async def test_records_wait_for_each_right_and_delay_no_other_topic(secured: SecuredKafka) -> None:
    keys = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}
    topic, other = secured.create_topic(), secured.create_topic()
    async with ConfirmingProgram(**secured.keys("SASLTLS", keys)) as program:
        # The topic may not even be described.
        program.write(topic, b"a")
        await program.until(lambda: len(program.holds) == 1)
        assert isinstance(program.holds[0][1], TopicAuthorizationFailedError)
        assert str(program.holds[0][1]).endswith(f"acls add --allow User:ann --topic {topic} --operation WRITE")
        # It may be described. Without any right to write, there is no producer id.
        secured.allow(ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
        secured.allow(ResourceType.TOPIC, other, AclOperation.DESCRIBE)
        program.write(other, b"o")
        await program.until(lambda: len({name for name, _ in program.holds}) == 2)
        assert isinstance(program.holds[-1][1], ClusterAuthorizationFailedError | TopicAuthorizationFailedError)
        # The other topic may be written to.
        secured.allow(ResourceType.TOPIC, other, AclOperation.WRITE)
        await program.until(lambda: program.confirmed == [b"o"])
        assert program.room.unconfirmed == 1
        secured.allow(ResourceType.TOPIC, topic, AclOperation.WRITE)
        await program.settled()
        await program.until(lambda: {name for name, error in program.holds if error is None} == {topic, other})
        assert program.confirmed == [b"o", b"a"]
        # The right is taken back while the writer runs.
        secured.forbid(ResourceType.TOPIC, topic, AclOperation.WRITE)
        before = len(program.holds)
        program.write(topic, b"b")
        await program.until(lambda: len(program.holds) == before + 1)
        secured.allow(ResourceType.TOPIC, topic, AclOperation.WRITE)
        await program.settled()
        assert program.confirmed == [b"o", b"a", b"b"]
        assert program.refused == {}
        secured.allow(ResourceType.TOPIC, topic, AclOperation.READ)
        assert await program.found(topic) == {0: [b"one", b"a", b"b"]}
