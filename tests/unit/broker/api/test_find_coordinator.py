"""FindCoordinator: key types, the two shapes of the response, and errors per key."""

import pytest

from kafka_groups.broker.api import find_coordinator
from kafka_groups.broker.metadata.placement import (
    GROUP_TOPIC,
    SHARE_STATE_TOPIC,
    coordinator_of,
    partition_of_key,
)
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from tests.support.broker.group_services import at_version, group_context

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.fixture
def context() -> RequestContext:
    return group_context(brokers=3, has_internal_topics=False)


async def find(context: RequestContext, key_type: int, *keys: str, version: int = 6) -> tuple[Coordinator, ...]:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
    return (await find_coordinator.handle(request, at_version(context, version))).coordinators


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_one_coordinator_per_key(context: RequestContext, version: int) -> None:
    keys = ("first", "second", "third", "")
    found = await find(context, 0, *keys, version=version)
    assert [coordinator.key for coordinator in found] == list(keys)
    for coordinator in found:
        node_id = context.services.cluster.metadata.coordinator_of(coordinator.key)
        assert (coordinator.node_id, coordinator.host, coordinator.port) == (node_id, f"host{node_id}", 9092 + node_id)
        assert coordinator.error_code is ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_old_versions_have_single_fields(context: RequestContext, version: int) -> None:
    response = await find_coordinator.handle(FindCoordinatorRequest(key="group"), at_version(context, version))
    assert response.coordinators == ()
    assert response.node_id == context.services.cluster.metadata.coordinator_of("group")
    assert (response.host, response.error_code) == (f"host{response.node_id}", ErrorCode.NONE)


async def test_unknown_key_type(context: RequestContext) -> None:
    (coordinator,) = await find(context, 3, "group")
    assert (coordinator.error_code, coordinator.node_id, coordinator.port) == (ErrorCode.INVALID_REQUEST, -1, -1)
    request = FindCoordinatorRequest(key_type=3, key="group")
    assert (await find_coordinator.handle(request, at_version(context, 3))).error_code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("key", [f"group:{TOPIC_ID}:0", f"a:b:{TOPIC_ID}:12"])
async def test_share_partition(context: RequestContext, key: str) -> None:
    (coordinator,) = await find(context, 2, key)
    assert (coordinator.error_code, coordinator.key) == (ErrorCode.NONE, key)
    assert coordinator.node_id == coordinator_of(context.services.cluster.metadata.image, key, SHARE_STATE_TOPIC)


@pytest.mark.parametrize(("key_type", "internal_topic"), [(0, GROUP_TOPIC), (2, SHARE_STATE_TOPIC)])
async def test_the_leader_in_the_internal_topic_coordinates(
    context: RequestContext, key_type: int, internal_topic: str
) -> None:
    topic = context.services.cluster.metadata.create_topic(internal_topic, 5)
    keys = [f"{name}:{TOPIC_ID}:3" for name in range(20)]
    found = await find(context, key_type, *keys)
    leaders = [topic.partitions[partition_of_key(key, 5)].leader_id for key in keys]
    assert [coordinator.node_id for coordinator in found] == leaders
    assert set(leaders) == {0, 1, 2}
    assert [each.node_id for each in await find(context, 2 - key_type, *keys)] != leaders


async def test_a_share_key_is_read_before_it_is_hashed(context: RequestContext) -> None:
    found = await find(context, 2, *(f"group:{TOPIC_ID}:{'0' * zeros}7" for zeros in range(9)))
    assert len({coordinator.node_id for coordinator in found}) == 1


@pytest.mark.parametrize(
    "key",
    [
        "",
        "group",
        "group:0",
        f":{TOPIC_ID}:0",
        "group:abc:0",
        f"group:{TOPIC_ID}:x",
        f"group:{TOPIC_ID}",
        "g:!!:0",
        f"g:{TOPIC_ID}:{'9' * 5000}",
    ],
)
async def test_malformed_share_partition(context: RequestContext, key: str) -> None:
    (coordinator,) = await find(context, 2, key)
    assert coordinator.error_code is ErrorCode.INVALID_REQUEST


async def test_share_keys_need_version_6(context: RequestContext) -> None:
    (coordinator,) = await find(context, 2, f"group:{TOPIC_ID}:0", version=5)
    assert coordinator.error_code is ErrorCode.INVALID_REQUEST


async def test_no_broker_is_up(context: RequestContext) -> None:
    for node_id in range(3):
        context.services.cluster.metadata.unregister_broker(node_id)
    (coordinator,) = await find(context, 0, "group")
    assert coordinator.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("version", range(1, 7))
async def test_the_first_question_makes_the_topic_of_transactions(context: RequestContext, version: int) -> None:
    request = FindCoordinatorRequest(key_type=1, key="writer", coordinator_keys=("writer",) if version >= 4 else ())
    response = await find_coordinator.handle(request, at_version(context, version))
    found = response.coordinators[0] if version >= 4 else response
    topic = context.services.cluster.metadata.topic("__transaction_state")
    assert topic is not None
    assert found.error_code is ErrorCode.NONE
    assert found.node_id == topic.partitions[partition_of_key("writer", topic.num_partitions)].leader_id
