"""Which tasks each process of the demo has."""

import pytest

from kafka_groups.admin import StreamsGroupDescription, StreamsGroupMemberDescription, StreamsGroupTasks
from kafka_groups.cli.demo.streams.group_watch import client_id_of, is_shared, tasks_by_process
from kafka_groups.types import TaskId


def member(process: int, active: dict[str, frozenset[int]]) -> StreamsGroupMemberDescription:
    tasks = StreamsGroupTasks(active=active)
    return StreamsGroupMemberDescription(
        member_id="m", epoch=1, process_id="p", instance_id=None, rack=None, client_id=f"{client_id_of(process)}-main",
        client_host="/", user_endpoint=None, client_tags={}, topology_epoch=0, assignment=tasks,
        target_assignment=tasks, task_offsets={}, task_end_offsets={}, is_classic=False,
    )  # fmt: skip


def group(*members: StreamsGroupMemberDescription, state: str = "Stable") -> StreamsGroupDescription:
    return StreamsGroupDescription(
        group_id="g", state=state, epoch=1, assignment_epoch=1, assignor=None, topology=None, members=members
    )


BOTH = (member(1, {"0": frozenset({1})}), member(0, {"1": frozenset({0}), "0": frozenset({0, 2})}))


def test_tasks_are_shown_by_process() -> None:
    assert tasks_by_process(group(*BOTH)) == {
        0: (TaskId("0", 0), TaskId("0", 2), TaskId("1", 0)),
        1: (TaskId("0", 1),),
    }


@pytest.mark.parametrize(
    ("found", "members", "shared"),
    [
        (group(*BOTH), 2, True),
        (group(*BOTH), 3, False),
        (group(*BOTH, state="Reconciling"), 2, False),
        (group(BOTH[0], member(2, {})), 2, False),
        (None, 2, False),
    ],
)
def test_a_group_is_shared_when_it_is_stable_and_all_have_tasks(
    found: StreamsGroupDescription | None, members: int, *, shared: bool
) -> None:
    assert is_shared(found, members) is shared
