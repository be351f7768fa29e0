"""Plans as people read them, and as programs do."""

import io
import json
from datetime import UTC, datetime

from attrs import evolve
from rich.console import Console

from kafka_groups.admin import (
    CopyBasis,
    PlannedLoad,
    PlannedMove,
    PlannedThread,
    RackTraffic,
    StreamsPlan,
    TaskCounts,
    TaskPlace,
)
from kafka_groups.assignment import AssignedTaskType
from kafka_groups.cli.admin.streams_groups.plan_documents import plan_document
from kafka_groups.cli.admin.streams_groups.plan_tables import print_plan
from kafka_groups.types import TaskId

OLD, NEW = "0b9f6f41-9f23-45b8-a57f-417c2f341bd6", "0b9f6f41-0000-45b8-a57f-417c2f341bd6"
A, B = TaskPlace("m-2", OLD), TaskPlace("n-1", NEW)
PLAN = StreamsPlan(
    group_id="app",
    state="Stable",
    assignor="pinned",
    group_assignor="sticky",
    moves=(
        PlannedMove(
            task=TaskId("0", 1),
            role=AssignedTaskType.ACTIVE,
            source=A,
            target=B,
            role_before=AssignedTaskType.STANDBY,
            records=1_200,
            basis=CopyBasis.REPORTED,
        ),
        PlannedMove(task=TaskId("0", 1), role=AssignedTaskType.STANDBY, source=B, target=None),
    ),
    processes=(
        PlannedLoad(
            process_id=OLD,
            rack=None,
            client_tags={},
            threads=(
                PlannedThread(member_id="m-1", before=TaskCounts(2, 0), after=TaskCounts(2, 1)),
                PlannedThread(member_id="m-2", before=TaskCounts(1, 0), after=None),
            ),
        ),
        PlannedLoad(
            process_id=NEW,
            rack="x",
            client_tags={"zone": "z"},
            threads=(PlannedThread(member_id="n-1", before=None, after=TaskCounts(1, 0)),),
        ),
    ),
    traffic=RackTraffic(before=2, after=0, partitions=4),
    followups={OLD: datetime(2026, 1, 1, tzinfo=UTC)},
    warnings=("beware",),
)


def printed(plan: StreamsPlan, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_plan(console, plan)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def cells(text: str) -> list[list[str]]:
    """The cells of all rows of tables, without headings."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_a_plan_is_printed_as_two_tables_and_some_lines() -> None:
    text = printed(PLAN)
    head, *_ = text.splitlines()
    assert head == "app is Stable. This is what pinned would do; nothing was changed. The group uses sticky."
    assert cells(text) == [
        [OLD, "3 → 2", "0 → 1", "1.5 → 3.0"],
        ["m-1", "2 → 2", "0 → 1", ""],
        ["m-2", "1 → -", "0 → -", ""],
        [f"{NEW} rack=x zone=z", "- → 1", "- → 0", "- → 1.0"],
        ["n-1", "- → 1", "- → 0", ""],
        ["0_1", "active", "0b9f6f41-9, 2", "0b9f6f41-0, 1", "standby", "1,200", "since its offset"],
        ["0_1", "standby", "0b9f6f41-0, 1", "-", "-", "0", ""],
    ]
    assert text.splitlines()[-3:] == [
        "Moves: 2. Records to copy: at most 1,200.",
        "Partitions read from another rack: 2 now, 0 then, of 4.",
        f"Process {OLD} asks for another rebalance at 2026-01-01T00:00:00+00:00.",
    ]


def test_ids_are_whole_however_narrow_the_terminal_is() -> None:
    folded = "".join(row[0] for row in cells(printed(PLAN, 60)))
    assert OLD in folded
    assert NEW in folded


def test_a_plan_without_moves_says_so() -> None:
    plan = evolve(PLAN, moves=(), traffic=None, followups={}, group_assignor=None)
    text = printed(plan)
    assert text.splitlines()[0].endswith("nothing was changed.")
    assert text.splitlines()[-1] == "No task moves."
    assert "Tasks that move" not in text


def test_unknown_numbers_are_marked() -> None:
    unknown = evolve(PLAN.moves[0], records=None, basis=CopyBasis.UNKNOWN)
    text = printed(evolve(PLAN, moves=(unknown,), traffic=None, followups={}))
    assert cells(text)[-1][-2:] == ["?", "unknown"]
    assert text.splitlines()[-1] == "Moves: 1. The number of records to copy is unknown."


def test_a_result_that_cannot_be_read_has_no_tables() -> None:
    text = printed(StreamsPlan(group_id="[b]app", state="Stable", assignor="pinned", group_assignor=None, error="no"))
    assert text == "[b]app is Stable. This is what pinned would do; nothing was changed.\n"


def test_a_plan_as_a_document() -> None:
    document = plan_document(PLAN)
    assert json.loads(json.dumps(document)) == document
    assert document == {
        "group": "app",
        "state": "Stable",
        "assignor": "pinned",
        "group_assignor": "sticky",
        "error": None,
        "missing_topics": [],
        "moves": [
            {
                "task": "0_1",
                "role": "active",
                "from": {"member": "m-2", "process": OLD},
                "to": {"member": "n-1", "process": NEW},
                "role_before": "standby",
                "records": 1_200,
                "basis": "reported",
            },
            {
                "task": "0_1",
                "role": "standby",
                "from": {"member": "n-1", "process": NEW},
                "to": None,
                "role_before": None,
                "records": 0,
                "basis": "nothing",
            },
        ],
        "records": 1_200,
        "processes": [
            {
                "process": OLD,
                "rack": None,
                "client_tags": {},
                "before": {"active": 3, "standby": 0},
                "after": {"active": 2, "standby": 1},
                "threads": [
                    {"member": "m-1", "before": {"active": 2, "standby": 0}, "after": {"active": 2, "standby": 1}},
                    {"member": "m-2", "before": {"active": 1, "standby": 0}, "after": None},
                ],
            },
            {
                "process": NEW,
                "rack": "x",
                "client_tags": {"zone": "z"},
                "before": None,
                "after": {"active": 1, "standby": 0},
                "threads": [{"member": "n-1", "before": None, "after": {"active": 1, "standby": 0}}],
            },
        ],
        "rack_traffic": {"before": 2, "after": 0, "partitions": 4},
        "followups": {OLD: "2026-01-01T00:00:00+00:00"},
        "unassigned_tasks": [],
        "warnings": ["beware"],
    }
