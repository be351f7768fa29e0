"""The rights that a check asks for, before anything is joined or read."""

from collections.abc import Sequence

import pytest

from kafka_groups.acls import AclOperation
from kafka_groups.admin.rules.share_groups import describe_groups
from kafka_groups.broker.faults import answer
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.config.clients.admin import AdminConfig, admin_config
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from kafka_groups.share.workers.running.checks.worker_rights import WorkerNeeds, missing_rights_of
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, simulate

GRANT = "Grant it: kafka-groups acls add --allow User:ANONYMOUS"


def config_of(world: WorkerWorld) -> AdminConfig:
    return admin_config({}, bootstrap_servers=world.cluster.bootstrap_servers)


async def missing(world: WorkerWorld, needs: WorkerNeeds) -> Sequence[str]:
    return await missing_rights_of(needs, config_of(world), Environment(world.network, world.clock))


def refuse_group(world: WorkerWorld, code: ErrorCode) -> None:
    response = ShareGroupHeartbeatResponse(error_code=code, member_epoch=0, heartbeat_interval_ms=0)
    world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(response))


def allow_only(world: WorkerWorld, *operations: AclOperation) -> None:
    """Have the brokers say that the client may do nothing else with any topic."""
    bits = sum(1 << operation for operation in operations)
    topics = [MetadataResponseTopic(name=name, topic_authorized_operations=bits) for name in (TOPIC, DEAD)]
    world.cluster.faults.on(
        ApiKey.METADATA,
        answer(MetadataResponse(topics=tuple(topics))),
        when=lambda request: request.include_topic_authorized_operations,
    )


def test_nothing_is_missing_without_an_authorizer_and_no_group_is_made() -> None:
    async def program(world: WorkerWorld) -> None:
        assert await missing(world, WorkerNeeds(["g"], [TOPIC, "nosuch"], [DEAD])) == []
        client = admin_client(config_of(world), Environment(world.network, world.clock))
        found = await describe_groups(client.within(10_000), ["g"])
        assert isinstance(found.errors["g"], GroupIdNotFoundError)
        await client.close()

    simulate(program)


def test_a_group_that_may_not_be_joined_is_named() -> None:
    async def program(world: WorkerWorld) -> None:
        refuse_group(world, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        assert await missing(world, WorkerNeeds(["g", "g-retry"], [], [])) == [
            f"User:ANONYMOUS needs READ on the group {group} (GROUP_AUTHORIZATION_FAILED). {GRANT} --group {group}"
            " --operation READ"
            for group in ("g", "g-retry")
        ]

    simulate(program)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND])
def test_other_answers_of_the_coordinator_come_after_the_right(code: ErrorCode) -> None:
    async def program(world: WorkerWorld) -> None:
        refuse_group(world, code)
        assert await missing(world, WorkerNeeds(["g"], [], [])) == []

    simulate(program)


def test_reading_and_writing_are_asked_for_apart() -> None:
    async def program(world: WorkerWorld) -> None:
        allow_only(world, AclOperation.READ, AclOperation.DESCRIBE)
        assert await missing(world, WorkerNeeds([], [TOPIC], [DEAD])) == [
            (
                f"User:ANONYMOUS needs WRITE on the topic {DEAD} (TOPIC_AUTHORIZATION_FAILED). {GRANT} --topic {DEAD}"
                " --operation WRITE"
            )
        ]

    async def writer(world: WorkerWorld) -> None:
        allow_only(world, AclOperation.WRITE)
        [text] = await missing(world, WorkerNeeds([], [TOPIC, DEAD], [DEAD]))
        assert f"needs READ on the topics {TOPIC}, {DEAD} (" in text

    simulate(program)
    simulate(writer)


def test_a_topic_that_may_not_even_be_described_lacks_the_right() -> None:
    async def program(world: WorkerWorld) -> None:
        denied = MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=TOPIC)
        world.cluster.faults.on(ApiKey.METADATA, answer(MetadataResponse(topics=(denied,))))
        [text] = await missing(world, WorkerNeeds([], [TOPIC], []))
        assert text.startswith(f"User:ANONYMOUS needs READ on the topic {TOPIC} (")

    simulate(program)
