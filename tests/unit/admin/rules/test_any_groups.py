"""Questions about groups of any type, to brokers that do not answer or are old."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    ConfigurationError,
    GroupIdNotFoundError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponse, DescribeGroupsResponseGroup
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.admin.worlds import FIRST, AdminWorld, simulate


def old(list_groups: int) -> Callable[[Any], ApiVersionsResponse]:
    """The APIs of an older broker."""
    apis = {
        ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.DESCRIBE_GROUPS: 5,
        ApiKey.LIST_GROUPS: list_groups, ApiKey.OFFSET_FETCH: 8, ApiKey.LIST_OFFSETS: 7,
    }  # fmt: skip
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in apis.items())
    return lambda _request: ApiVersionsResponse(api_keys=listed)


def test_a_group_that_a_silent_broker_may_have_is_not_said_to_be_missing() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            group = world.group_at(1)
            (await admin.alter_share_group_offsets(group, {FIRST: 0})).checked()
            refusal = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            world.cluster.faults.on(ApiKey.LIST_GROUPS, answer(refusal), node_id=2)
            listed = await admin.list_groups()
            assert [each.group_id for each in listed.groups] == [group]
            assert list(listed.errors) == [2]
            described = await admin.describe_groups([group, "absent"])
            assert list(described.values) == [group]
            assert isinstance(described.errors["absent"], ClusterAuthorizationFailedError)

    simulate(program)


def test_groups_of_a_broker_without_types_are_classic_ones() -> None:
    listed = ListGroupsResponse(groups=(ListedGroup(group_id="g", protocol_type="consumer"),))
    shown = DescribeGroupsResponseGroup(group_id="g", group_state="Empty", protocol_type="consumer")
    dead = DescribeGroupsResponseGroup(group_id="absent", group_state="Dead")

    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(old(list_groups=3)))
        world.cluster.faults.on(ApiKey.LIST_GROUPS, answer(listed))
        world.cluster.faults.on(ApiKey.DESCRIBE_GROUPS, answer(DescribeGroupsResponse(groups=(shown, dead))))
        async with world.admin() as admin:
            [group] = (await admin.list_groups()).groups
            assert (group.type, group.protocol_type, group.state) == ("", "consumer", "")
            described = await admin.describe_groups(["g", "absent"])
            assert described["g"].type == "classic"
            assert isinstance(described.errors["absent"], GroupIdNotFoundError)

    simulate(program)


@pytest.mark.parametrize(
    ("version", "wanted", "message"),
    [
        (3, {"states": ["Stable"]}, "ListGroups v3 cannot filter by states (Kafka 2.6)."),
        (4, {"types": ["share"]}, "ListGroups v4 cannot filter by types (Kafka 3.8)."),
    ],
)
def test_a_broker_that_cannot_filter_does_not_list_too_much(version: int, wanted: dict[str, Any], message: str) -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(old(list_groups=version)))
        async with world.admin() as admin:
            errors = (await admin.list_groups(**wanted)).errors
            assert {(type(each), str(each)) for each in errors.values()} == {(UnsupportedVersionError, message)}

    simulate(program)


def test_types_that_do_not_exist_are_refused() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            with pytest.raises(ConfigurationError) as caught:
                await admin.list_groups(types=["Share"])
            assert str(caught.value).startswith(
                "types: 'Share' is not a type of groups: use 'classic', 'consumer', 'share', 'streams'"
            )
            with pytest.raises(ConfigurationError):
                await admin.list_groups(types="share")

    simulate(program)
