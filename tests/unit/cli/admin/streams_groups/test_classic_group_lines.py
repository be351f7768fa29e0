"""Classic groups of streams applications as people read them."""

from datetime import UTC, datetime
from typing import Any

from kafka_groups.admin import ClassicStreamsGroupDescription, ClassicStreamsGroupMember
from kafka_groups.cli.admin.streams_groups.classic_group_lines import classic_group_lines
from kafka_groups.types import TaskId, TopicPartition

A, B, C = TaskId("0", 0), TaskId("0", 1), TaskId("1", 0)
ORDER = TopicPartition("orders", 0)


def member(**fields: Any) -> ClassicStreamsGroupMember:
    """A member that has nothing."""
    values: dict[str, Any] = {
        "member_id": "m-1",
        "process_id": "p-1",
        "instance_id": None,
        "rack": None,
        "client_id": "c-1",
        "client_host": "/h",
        "user_endpoint": None,
        "client_tags": {},
        "topics": frozenset({"orders"}),
        "version": 11,
        "latest_version": 11,
        "generation": None,
        "owned_partitions": frozenset(),
        "owned_tasks": frozenset(),
        "running_tasks": frozenset(),
        "task_offset_sums": {},
        "requests_shutdown": False,
        "active_tasks": frozenset(),
        "standby_tasks": frozenset(),
        "assigned_version": 11,
        "common_version": 11,
        "error_code": 0,
        "rejoins_at_once": False,
        "next_rebalance": None,
    }
    return ClassicStreamsGroupMember(**{**values, **fields})


BUSY = member(
    instance_id="i",
    rack="r",
    user_endpoint=("h", 7),
    client_tags={"zone": "a", "kind": "b"},
    version=10,
    generation=3,
    owned_partitions=frozenset({ORDER}),
    owned_tasks=frozenset({A}),
    running_tasks=frozenset({A}),
    task_offset_sums={C: 12, B: None},
    active_tasks=frozenset({B, A}),
    standby_tasks=frozenset({C}),
    next_rebalance=datetime(2026, 1, 31, 12, 0, 1, 500, tzinfo=UTC),
)
GROUP = ClassicStreamsGroupDescription(
    group_id="app",
    state="Stable",
    members=(BUSY, member(member_id="m-2", process_id="p-2", rejoins_at_once=True)),
    lag={ORDER: 5},
)


def test_members_are_printed_by_process() -> None:
    assert list(classic_group_lines(GROUP)) == [
        "app Stable lag=5 members=2 protocol=classic",
        "  process p-1",
        "    m-1 c-1 /h version=10 instance=i rack=r endpoint=h:7 tags=zone=a,kind=b latest-version=11",
        "      active 0_0 0_1; standby 1_0",
        "      owned before: 0_0",
        "      changelog positions: 1_0=12",
        "      joins again at 2026-01-31T12:00:01+00:00",
        "  process p-2",
        "    m-2 c-1 /h version=11",
        "      no tasks",
        "      joins again at once",
    ]


def test_errors_for_all_members() -> None:
    def lines(**fields: Any) -> list[str]:
        group = ClassicStreamsGroupDescription(group_id="app", state="Stable", members=(member(**fields),))
        return [line.strip() for line in classic_group_lines(group)][4:]

    assert lines(owned_tasks=frozenset({A}), error_code=1) == [
        "owned before: 0_0",
        "error 1: an input topic is missing",
    ]
    assert lines(active_tasks=frozenset({A})) == ["owned before: no tasks"]
    assert lines(requests_shutdown=True, error_code=4) == [
        "asked all members to shut down",
        "error 4: all members shut down",
    ]
    assert lines(error_code=9) == ["error 9: unknown"]


def test_a_group_without_members() -> None:
    empty = ClassicStreamsGroupDescription(group_id="app", state="Empty")
    assert list(classic_group_lines(empty)) == ["app Empty lag=unknown members=0 protocol=classic"]
