"""Members of classic groups that are strange to an application: as its leaders, and as members that it leads."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from kafka_groups.assignment import TaskAssignmentError
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.member_data import INT32
from kafka_groups.protocol.messages.join_group import JoinGroupResponse
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.streams import AsyncKafkaStreams, StreamsError, StreamsState
from kafka_groups.types import TaskId
from tests.integration.test_refused_classic_applications import posts, servers
from tests.integration.test_streams_applications import word_count
from tests.support.conditions import until
from tests.support.members.classic_member import ClassicMember
from tests.support.members.classic_stranger import Assign, stranger

__all__ = ["posts", "servers"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 90.0
PROCESS = UUID(int=7)
EMPTY = ConsumerProtocolAssignment({}, AssignmentInfo().encode()).encode()


def application(servers: str, posts: str) -> AsyncKafkaStreams:
    return AsyncKafkaStreams(
        word_count(posts),
        application_id=f"{posts}-app",
        bootstrap_servers=servers,
        group_protocol="classic",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=300,
        commit_interval_ms=100,
    )


async def error_of(app: AsyncKafkaStreams) -> BaseException:
    """What an application ends with."""

    async def state() -> StreamsState:
        return app.state

    await until(state, lambda it: it is StreamsState.ERROR, PATIENCE_S)
    assert app.error is not None
    return app.error


def subscription(user_data: bytes, *topics: str) -> bytes:
    return ConsumerProtocolSubscription(topics=topics, user_data=user_data).encode()


def of(info: AssignmentInfo, partitions: Mapping[str, tuple[int, ...]] | None = None) -> Assign:
    """Assign this to all members but the leader, which gets nothing."""

    def assign(answer: JoinGroupResponse) -> Mapping[str, bytes]:
        given = ConsumerProtocolAssignment(partitions or {}, info.encode()).encode()
        return {each.member_id: EMPTY if each.member_id == answer.leader else given for each in answer.members}

    return assign


@asynccontextmanager
async def led_by(servers: str, posts: str, assign: Assign) -> AsyncIterator[tuple[ClassicMember, AsyncKafkaStreams]]:
    """An application whose group is led by a stranger."""
    known = subscription(SubscriptionInfo(PROCESS).encode(), posts)
    async with (
        stranger(servers, f"{posts}-app", known, assign) as leader,
        application(servers, posts) as app,
    ):
        yield leader, app


# --------------------------------------------------------------------------------------------- strange leaders


async def test_an_error_of_the_leader_is_one_of_the_assignment(servers: str, posts: str) -> None:
    async with led_by(servers, posts, of(AssignmentInfo(error_code=3))) as (leader, app):
        error = await error_of(app)
        assert isinstance(error, TaskAssignmentError)
        assert str(error) == (
            f"The leader of the group, {leader.member_id}, could not assign the tasks. Its log has the cause."
        )


async def test_a_leader_that_does_not_find_the_sources_is_named(servers: str, posts: str) -> None:
    async with led_by(servers, posts, of(AssignmentInfo(error_code=1))) as (leader, app):
        error = await error_of(app)
        assert isinstance(error, StreamsError)
        assert f"The leader of the group, {leader.member_id}, does not find all source topics" in str(error)


async def test_a_task_that_the_topology_does_not_have_is_named(servers: str, posts: str) -> None:
    assign = of(AssignmentInfo(active_tasks=(TaskId("5", 0),)), {posts: (0,)})
    async with led_by(servers, posts, assign) as (leader, app):
        error = await error_of(app)
        assert isinstance(error, StreamsError)
        assert f"The leader of the group, {leader.member_id}, has assigned the task 5_0" in str(error)
        assert "All members of the group must run the same topology" in str(error)


async def test_a_leader_without_user_data_has_not_assigned_nothing(servers: str, posts: str) -> None:
    def assign(answer: JoinGroupResponse) -> Mapping[str, bytes]:
        plain = ConsumerProtocolAssignment({posts: (0, 1)}).encode()
        return {each.member_id: plain for each in answer.members}

    async with led_by(servers, posts, assign) as (leader, app):
        error = await error_of(app)
        assert isinstance(error, StreamsError)
        assert f"The leader of the group, {leader.member_id}, has sent an assignment that cannot be read" in str(error)


# -------------------------------------------------------------------------------------------- strange members


def old(version: int) -> bytes:
    """User data of an old version: the process, and no tasks."""
    return INT32.pack(version) + PROCESS.bytes + INT32.pack(0) * (version + 1)


def named() -> bytes:
    """User data with the state of a task of a named topology."""
    head = INT32.pack(11) * 2 + PROCESS.bytes + INT32.pack(0)
    sums = INT32.pack(1) + INT32.pack(0) * 2 + bytes(8) + b"\x00\x04name"
    return head + sums + b"\x01" + INT32.pack(0) * 2


USED = SubscriptionInfo(PROCESS).encode()


@pytest.mark.parametrize(
    ("user_data", "text"),
    [
        pytest.param(old(1), "Upgrade that member to Kafka Streams 2.5 or later", id="version 1"),
        pytest.param(old(2), "Upgrade that member to Kafka Streams 2.5 or later", id="version 2"),
        pytest.param(named(), "Run applications with named topologies under another application.id", id="named"),
        pytest.param(USED[:-6], "Look for a program that is no streams application", id="cut"),
        pytest.param(b"", "Look for a program that is no streams application", id="none"),
    ],
)
async def test_user_data_that_cannot_be_read_names_the_member(
    servers: str, posts: str, user_data: bytes, text: str
) -> None:
    async with application(servers, posts) as app:
        await app.wait_until_running(PATIENCE_S)
        # When the application has left, the stranger is alone.
        async with stranger(servers, f"{posts}-app", subscription(user_data, posts), of(AssignmentInfo())) as member:
            error = await error_of(app)
            assert isinstance(error, StreamsError)
            assert str(error).startswith("Cannot lead the group's member conformance-")
            assert text in str(error)
            assert member.generation > 0


async def test_members_with_another_topology_are_one_warning_with_topics_and_tasks(
    servers: str, posts: str, caplog: pytest.LogCaptureFixture
) -> None:
    sums = ((TaskId("7", 0), 5),)
    other = subscription(SubscriptionInfo(PROCESS, task_offset_sums=sums).encode(), posts, "others")
    with caplog.at_level(logging.WARNING):
        async with application(servers, posts) as app:
            await app.wait_until_running(PATIENCE_S)
            async with stranger(servers, f"{posts}-app", other) as member:
                told = await until(lambda: warnings(caplog), bool, PATIENCE_S)
                assert len(told) == 1
                repartition = f"{posts}-app-counts-repartition"
                what = f"also reads others; does not read {repartition}; has state of 7_0"
                assert f"{member.member_id} ({what})" in told[0]
                assert app.error is None


async def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each for each in caplog.messages if "have another topology than this member" in each]
