"""The blocking member: its thread, its end, and calls from several threads."""

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ApplicationShutdownError, ClosedError, ConcurrentUseError, IllegalStateError
from kafka_groups.streams import MembershipState, StreamsGroupMember, TasksAssigned, TasksRevoked
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import wait_until
from tests.unit.streams.member.clusters import SETTINGS, TOPIC, TOPOLOGY

FIRST = TopicPartition(TOPIC, 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 2)
        yield cluster


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("streams-member")])


def a_member(cluster: EmbeddedCluster, application_id: str, **keywords: Any) -> StreamsGroupMember:
    return StreamsGroupMember(
        bootstrap_servers=cluster.bootstrap_servers, application_id=application_id, topology=TOPOLOGY, **keywords
    )


def poll_until(member: StreamsGroupMember, tasks: int) -> list[type]:
    """Poll until the member owns so many tasks, and confirm what it gives up."""
    kinds: list[type] = []
    while len(member.tasks.active) != tasks:
        for event in member.poll(10):
            kinds.append(type(event))
            if isinstance(event, TasksRevoked):
                member.confirm(event)
    return kinds


def test_tasks_come_are_committed_and_move(cluster: EmbeddedCluster) -> None:
    with a_member(cluster, "moves") as first, a_member(cluster, "moves") as second:
        first.join()
        assert TasksAssigned in poll_until(first, 2)
        first.commit({FIRST: 5})
        assert first.committed([FIRST]) == {FIRST: OffsetAndMetadata(5)}
        assert first.group_metadata().startswith(b"CGMDv2:")
        second.join()
        assert TasksRevoked in poll_until(first, 1)
        poll_until(second, 1)
        assert not first.tasks.active & second.tasks.active
    assert first.state is MembershipState.UNJOINED


def test_another_thread_may_commit_while_one_waits(cluster: EmbeddedCluster) -> None:
    with a_member(cluster, "threads") as member:
        member.join()
        poll_until(member, 2)
        heard: list[object] = []
        waiting = threading.Thread(target=lambda: heard.append(member.poll(20)))
        waiting.start()
        member.commit({FIRST: 1})
        member.request_shutdown()
        waiting.join()
        assert heard
        with pytest.raises(ApplicationShutdownError, match="asked all members to shut down"):
            poll_until(member, -1)


def test_calls_before_join_and_after_close_say_so(cluster: EmbeddedCluster) -> None:
    member = a_member(cluster, "ends")
    with pytest.raises(IllegalStateError, match=r"call join\(\) first"):
        member.poll(0)
    member.join()
    member.close()
    member.close()
    for call in (member.join, lambda: member.poll(0), member.request_shutdown):
        with pytest.raises(ClosedError):
            call()


def test_a_poll_does_not_wait_for_the_thread_of_the_member(cluster: EmbeddedCluster) -> None:
    with a_member(cluster, "busy") as member:
        member.join()
        is_busy, goes_on = threading.Event(), threading.Event()

        def keep_busy() -> None:
            is_busy.set()
            goes_on.wait()

        wait_until(lambda: member._client.membership.has_events)
        member._thread.call_soon(keep_busy)
        is_busy.wait()
        try:
            heard = [*member.poll(0), *member.poll(0), *member.poll(0.01)]
        finally:
            goes_on.set()
        assert TasksAssigned in map(type, heard)
        assert poll_until(member, 2) == []


def test_a_member_that_was_not_called_in_time_joins_again_with_the_next_poll(cluster: EmbeddedCluster) -> None:
    with a_member(cluster, "stale", max_poll_interval_ms=500) as member:
        member.join()
        wait_until(lambda: member.state is MembershipState.STALE)
        member.poll(0)
        poll_until(member, 2)


def test_two_threads_do_not_poll_at_once(cluster: EmbeddedCluster) -> None:
    with a_member(cluster, "two") as member:
        member.join()
        poll_until(member, 2)
        waiting = threading.Thread(target=member.poll)
        waiting.start()
        wait_until(lambda: member._client.membership.calls.is_waiting)
        with pytest.raises(ConcurrentUseError):
            member.poll(0)
        member.request_shutdown()
        waiting.join()


def test_a_member_that_is_forgotten_ends_its_thread(cluster: EmbeddedCluster) -> None:
    held = [a_member(cluster, "forgotten")]
    held[0].join()
    with pytest.warns(ResourceWarning, match="StreamsGroupMember.*was not closed"):
        forget(held)


def forget(held: list[StreamsGroupMember]) -> None:
    held.clear()
    gc.collect()
