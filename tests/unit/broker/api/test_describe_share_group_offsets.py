"""DescribeShareGroupOffsets: start offsets and lag; what is unknown is -1 and no error."""

from uuid import UUID

import pytest

from kafka_groups.broker.api import describe_share_group_offsets
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup,
)
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.broker.group_services import elsewhere, group_context
from tests.support.broker.share_state import change_of

Asked = dict[str, tuple[int, ...]]


@pytest.fixture
async def context() -> RequestContext:
    made = group_context()
    made.services.cluster.metadata.create_topic("orders", 2)
    made.services.cluster.metadata.create_topic("other", 1)
    request = ShareGroupHeartbeatRequest(
        group_id="group", member_id="a", member_epoch=0, subscribed_topic_names=("orders",)
    )
    await made.services.coordinators.groups.share_group_heartbeat(request, MemberClient("c", "/h"))
    return made


async def describe(
    context: RequestContext, asked: Asked | None, group_id: str = "group"
) -> DescribeShareGroupOffsetsResponseGroup:
    topics = None
    if asked is not None:
        topics = tuple(
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
            for name, numbers in asked.items()
        )
    group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=topics)
    request = DescribeShareGroupOffsetsRequest(groups=(group,))
    (answer,) = (await describe_share_group_offsets.handle(request, context)).groups
    assert answer.group_id == group_id
    return answer


async def offsets(
    context: RequestContext, asked: Asked | None, group_id: str = "group"
) -> dict[str, list[tuple[int, int, int, int]]]:
    group = await describe(context, asked, group_id)
    assert group.error_code is ErrorCode.NONE
    assert all(p.error_code is ErrorCode.NONE for topic in group.topics for p in topic.partitions)
    return {
        topic.topic_name: [(p.partition_index, p.start_offset, p.leader_epoch, p.lag) for p in topic.partitions]
        for topic in group.topics
    }


def orders_id(context: RequestContext) -> UUID:
    topic = context.services.cluster.metadata.topic("orders")
    assert topic is not None
    return topic.topic_id


async def test_all_topics_of_the_group(context: RequestContext) -> None:
    assert await offsets(context, None) == {"orders": [(0, -1, 0, -1), (1, -1, 0, -1)]}


async def test_topic_ids(context: RequestContext) -> None:
    (topic,) = (await describe(context, None)).topics
    assert topic.topic_id == orders_id(context)


@pytest.mark.parametrize(
    ("start_offset", "complete", "lag"), [(10, 0, 0), (-1, 0, -1), (7, 0, 3), (7, -1, -1), (0, 4, 6)]
)
async def test_lag(context: RequestContext, start_offset: int, complete: int, lag: int) -> None:
    topic_id = orders_id(context)
    context.services.cluster.logs.get(topic_id, 0).append(build_batch([NewRecord(b"x")] * 10), 0, 0)
    outcomes: list[object] = []
    context.services.coordinators.persister.read(("group", topic_id, 0), 3, outcomes.append)
    change = change_of(9, 3, start_offset, complete)
    context.services.coordinators.persister.write(("group", topic_id, 0), change, outcomes.append)
    assert len(outcomes) == 2
    assert await offsets(context, {"orders": (0,)}) == {"orders": [(0, start_offset, 3, lag)]}


@pytest.mark.parametrize(
    ("asked", "group_id"),
    [({"nowhere": (0,)}, "group"), ({"orders": (7,)}, "group"), ({"other": (0,)}, "group"), ({"orders": (0,)}, "none")],
)
async def test_what_has_no_state_is_unknown(context: RequestContext, asked: Asked, group_id: str) -> None:
    ((name, (partition,)),) = asked.items()
    assert await offsets(context, asked, group_id) == {name: [(partition, -1, 0, -1)]}


async def test_unknown_group_and_no_topics(context: RequestContext) -> None:
    assert await offsets(context, None, "none") == {}
    assert await offsets(context, {}) == {}


async def test_deleted_topic_is_left_out(context: RequestContext) -> None:
    context.services.cluster.metadata.delete_topic("orders")
    assert await offsets(context, None) == {}


async def test_other_coordinator() -> None:
    context = group_context(brokers=3)
    assert (await describe(context, None, elsewhere(context))).error_code is ErrorCode.NOT_COORDINATOR


async def test_share_groups_switched_off() -> None:
    assert (await describe(group_context(features={}), None)).error_code is ErrorCode.UNSUPPORTED_VERSION
