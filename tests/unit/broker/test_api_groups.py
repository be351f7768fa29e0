"""The handlers of group requests: heartbeat, describe, list, delete; answers as Kafka 4.4 gives them."""

import pytest

from kafka_groups.broker.api import (
    delete_groups,
    join_group,
    list_groups,
    share_group_describe,
    share_group_heartbeat,
    streams_group_heartbeat,
)
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.errors import NotCoordinatorError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from tests.support.broker.group_services import at_version, elsewhere, group_context
from tests.support.members.streams_topologies import sent, subtopology


@pytest.fixture
def context() -> RequestContext:
    made = group_context()
    made.services.cluster.metadata.create_topic("orders", 2)
    return made


async def heartbeat(
    context: RequestContext, member_id: str, epoch: int, *topics: str, group_id: str = "group"
) -> ShareGroupHeartbeatResponse:
    request = ShareGroupHeartbeatRequest(
        group_id=group_id, member_id=member_id, member_epoch=epoch, subscribed_topic_names=topics or None
    )
    return await share_group_heartbeat.handle(request, context)


async def describe(context: RequestContext, *group_ids: str, operations: bool = False) -> tuple[DescribedGroup, ...]:
    request = ShareGroupDescribeRequest(group_ids=group_ids, include_authorized_operations=operations)
    return (await share_group_describe.handle(request, context)).groups


class TestHeartbeat:
    async def test_join(self, context: RequestContext) -> None:
        response = await heartbeat(context, "a", 0, "orders")
        assert (response.error_code, response.member_id, response.member_epoch) == (ErrorCode.NONE, "a", 2)
        assert response.heartbeat_interval_ms == 5_000

    @pytest.mark.parametrize(
        ("member_id", "epoch", "error_code"),
        [
            ("a", 4, ErrorCode.FENCED_MEMBER_EPOCH),
            ("b", 3, ErrorCode.UNKNOWN_MEMBER_ID),
            ("", 3, ErrorCode.INVALID_REQUEST),
        ],
    )
    async def test_errors(self, context: RequestContext, member_id: str, epoch: int, error_code: ErrorCode) -> None:
        await heartbeat(context, "a", 0, "orders")
        response = await heartbeat(context, member_id, epoch)
        assert response.error_code is error_code
        assert response.error_message
        assert (response.member_id, response.member_epoch, response.assignment) == (None, 0, None)

    async def test_other_coordinator(self) -> None:
        context = group_context(brokers=3)
        response = await heartbeat(context, "a", 0, "orders", group_id=elsewhere(context))
        assert response.error_code is ErrorCode.NOT_COORDINATOR

    async def test_share_groups_switched_off(self) -> None:
        response = await heartbeat(group_context(features={"share.version": 0}), "a", 0, "orders")
        assert response.error_code is ErrorCode.UNSUPPORTED_VERSION


class TestJoin:
    @pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
    async def test_other_coordinator(self, version: int, name: str | None) -> None:
        context = at_version(group_context(brokers=3), version)
        request = JoinGroupRequest(
            group_id=elsewhere(context), session_timeout_ms=10_000, member_id="a", protocol_type="consumer"
        )
        response = await join_group.handle(request, context)
        assert (response.error_code, response.member_id) == (ErrorCode.NOT_COORDINATOR, "a")
        assert response.protocol_name == name


class TestDescribe:
    async def test_group(self, context: RequestContext) -> None:
        await heartbeat(context, "a", 0, "orders")
        (group,) = await describe(context, "group")
        assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 2, "simple")
        (member,) = group.members
        assert (member.client_id, member.client_host) == ("test-client", "/127.0.0.1")
        assert group.authorized_operations == -(2**31)

    async def test_authorized_operations(self, context: RequestContext) -> None:
        await heartbeat(context, "a", 0, "orders")
        found, missing = await describe(context, "group", "missing", operations=True)
        assert found.authorized_operations == 3400  # READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS
        assert missing.authorized_operations == -(2**31)

    async def test_errors(self, context: RequestContext) -> None:
        missing, empty = await describe(context, "missing", "")
        assert missing.error_code is ErrorCode.GROUP_ID_NOT_FOUND
        assert missing.error_message == "Group missing not found."
        assert empty.error_code is ErrorCode.INVALID_GROUP_ID

    async def test_other_coordinator(self) -> None:
        context = group_context(brokers=3)
        (group,) = await describe(context, elsewhere(context))
        assert group.error_code is ErrorCode.NOT_COORDINATOR

    async def test_share_groups_switched_off(self) -> None:
        (group,) = await describe(group_context(features={}), "group")
        assert group.error_code is ErrorCode.UNSUPPORTED_VERSION


class TestListGroups:
    @pytest.mark.parametrize(
        ("states", "types", "expected"),
        [
            ((), (), ["empty", "full"]),
            (("Stable",), (), ["full"]),
            (("sTABLE", "empty"), (), ["empty", "full"]),
            (("Dead",), (), []),
            ((), ("Share",), ["empty", "full"]),
            ((), ("consumer",), []),
            (("Empty",), ("share", "classic"), ["empty"]),
        ],
    )
    async def test_filters(
        self, context: RequestContext, states: tuple[str, ...], types: tuple[str, ...], expected: list[str]
    ) -> None:
        for group_id in ("full", "empty"):
            await heartbeat(context, "a", 0, "orders", group_id=group_id)
        await heartbeat(context, "a", -1, group_id="empty")
        response = await list_groups.handle(ListGroupsRequest(states_filter=states, types_filter=types), context)
        assert [group.group_id for group in response.groups] == expected

    @pytest.mark.parametrize(("state", "expected"), [("not_ready", ["app"]), ("NotReady", []), ("Stable", [])])
    async def test_groups_that_are_not_ready(self, state: str, expected: list[str]) -> None:
        context = group_context(features={"streams.version": 1})
        joined = await streams_group_heartbeat.handle(
            StreamsGroupHeartbeatRequest(
                group_id="app",
                member_id="a",
                member_epoch=0,
                rebalance_timeout_ms=1_000,
                topology=sent(subtopology(sources=("missing",))),
                active_tasks=(),
                standby_tasks=(),
                warmup_tasks=(),
                process_id="p",
                client_tags=(),
            ),
            at_version(context, 1),
        )
        assert joined.error_code is ErrorCode.NONE
        listed = await list_groups.handle(ListGroupsRequest(states_filter=(state,)), context)
        assert [group.group_id for group in listed.groups] == expected

    async def test_what_is_listed(self, context: RequestContext) -> None:
        await heartbeat(context, "a", 0, "orders")
        response = await list_groups.handle(ListGroupsRequest(), at_version(context, 5))
        assert response.groups == (
            ListedGroup(group_id="group", protocol_type="share", group_state="Stable", group_type="share"),
        )

    async def test_every_group_is_listed_by_its_coordinator_alone(self) -> None:
        context = group_context(brokers=2)
        metadata, groups = context.services.cluster.metadata, context.services.coordinators.groups
        led = {name for name in map(str, range(10)) if metadata.coordinator_of(name) == 0}
        for group_id in map(str, range(10)):
            request = ShareGroupHeartbeatRequest(
                group_id=group_id, member_id="a", member_epoch=0, subscribed_topic_names=("orders",)
            )
            if group_id in led:
                await groups.share_group_heartbeat(request, MemberClient("c", "/h"))
                continue
            with pytest.raises(NotCoordinatorError):
                await groups.share_group_heartbeat(request, MemberClient("c", "/h"))
        response = await list_groups.handle(ListGroupsRequest(), context)
        listed = {group.group_id for group in response.groups}
        assert listed == led
        assert 0 < len(listed) < 10


class TestDeleteGroups:
    async def test_results(self, context: RequestContext) -> None:
        for group_id in ("full", "empty"):
            await heartbeat(context, "a", 0, "orders", group_id=group_id)
        await heartbeat(context, "a", -1, group_id="empty")
        request = DeleteGroupsRequest(groups_names=("full", "empty", "missing", "", "empty"))
        response = await delete_groups.handle(request, context)
        assert response.results == (
            DeletableGroupResult(group_id="full", error_code=ErrorCode.NON_EMPTY_GROUP),
            DeletableGroupResult(group_id="empty"),
            DeletableGroupResult(group_id="missing", error_code=ErrorCode.GROUP_ID_NOT_FOUND),
            DeletableGroupResult(group_id="", error_code=ErrorCode.GROUP_ID_NOT_FOUND),
        )

    async def test_share_state_goes_too(self, context: RequestContext) -> None:
        orders = context.services.cluster.metadata.topic("orders")
        assert orders is not None
        await heartbeat(context, "a", 0, "orders")
        assert await context.services.coordinators.persister.summarize(("group", orders.topic_id, 0)) is not None
        await heartbeat(context, "a", -1)
        await delete_groups.handle(DeleteGroupsRequest(groups_names=("group",)), context)
        assert await context.services.coordinators.persister.summarize(("group", orders.topic_id, 0)) is None

    async def test_other_coordinator(self) -> None:
        context = group_context(brokers=3)
        request = DeleteGroupsRequest(groups_names=(elsewhere(context),))
        (result,) = (await delete_groups.handle(request, context)).results
        assert result.error_code is ErrorCode.NOT_COORDINATOR
