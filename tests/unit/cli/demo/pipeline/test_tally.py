"""What is counted, when the kills fall due, and what makes an outcome hold."""

from typing import Any

import attrs
import pytest

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind, read_message
from kafka_groups.cli.demo.pipeline.tally import Files, PipelineOutcome, PipelineTally, Verdict

DELAYS = {("Endeavor Air Inc.", "fair"): Delays(10, 9, 8, 7, 6)}
GOOD = PipelineOutcome(
    published=110,
    delivered=130,
    redelivered=20,
    killed={Verdict.KILL_WORKER: 5, Verdict.KILL_QUERY: 5},
    reference=Files(rows=12, records=10),
    written=Files(rows=115, records=100),
    removed=15,
    left=Files(rows=100, records=100),
    flights_equal=True,
    delays=DELAYS,
    expected=dict(DELAYS),
)


def stored(records: int, table: str = "flights") -> Message:
    return Message(kind=MessageKind.STORED, pid=7, table=table, records=records)


@pytest.mark.parametrize("kind", MessageKind)
def test_messages_survive_their_line(kind: MessageKind) -> None:
    message = Message(kind=kind, pid=1, table="flights", records=2, redelivered=3, figures={"rows": 4})
    assert read_message(message.line()) == message
    assert message.line().count(b"\n") == 1


@pytest.mark.parametrize("line", [b"", b"{}", b'{"kind": "flew", "pid": 1}', b'{"kind": "stored", "other": 1}'])
def test_lines_that_are_no_message_are_refused(line: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_message(line)


def test_counts_add_up() -> None:
    tally = PipelineTally(100)
    tally.add(Message(kind=MessageKind.RECEIVED, pid=1, records=5, redelivered=2))
    tally.add(Message(kind=MessageKind.RECEIVED, pid=2, records=4))
    tally.add(stored(3))
    tally.add(stored(50, "reference"))
    tally.add(Message(kind=MessageKind.ACCEPTED, pid=1, records=3))
    assert (tally.delivered, tally.redelivered, tally.stored, tally.accepted, tally.batches) == (9, 2, 3, 3, 1)
    assert not tally.both_killed


def test_each_kill_falls_due_once_and_only_on_flights_that_are_stored() -> None:
    tally = PipelineTally(100)
    assert tally.add(stored(90, "reference")) is Verdict.GO_ON
    assert tally.add(stored(24)) is Verdict.GO_ON
    assert tally.add(Message(kind=MessageKind.RECEIVED, pid=1, records=50)) is Verdict.GO_ON
    assert tally.add(stored(60)) is Verdict.KILL_WORKER
    assert tally.add(stored(1)) is Verdict.KILL_QUERY
    assert tally.add(stored(15)) is Verdict.GO_ON
    assert tally.kills == {Verdict.KILL_WORKER: 60, Verdict.KILL_QUERY: 1}
    assert tally.both_killed


def test_good_outcome_holds() -> None:
    assert GOOD.holds
    assert GOOD.lost == 0
    assert GOOD.written.duplicates == 15


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"killed": {Verdict.KILL_QUERY: 5}}, "no Python worker was killed"),
        ({"killed": {Verdict.KILL_WORKER: 5}}, "no query was killed"),
        ({"left": Files(99, 99)}, "1 published records are missing from the tables"),
        ({"reference": Files(9, 9)}, "1 published records are missing from the tables"),
        ({"redelivered": 0}, "no record was redelivered"),
        ({"written": Files(100, 100), "removed": 0}, "no row was written twice"),
        ({"removed": 14}, "14 of 15 duplicates were removed"),
        ({"left": Files(101, 100)}, "1 duplicates are left"),
        ({"flights_equal": False}, "the enriched flights differ"),
        ({"delays": {}}, "the delays differ"),
    ],
)
def test_every_fault_is_told(changed: dict[str, Any], said: str) -> None:
    outcome = attrs.evolve(GOOD, **changed)
    assert not outcome.holds
    assert any(fault.startswith(said) for fault in outcome.faults()), list(outcome.faults())
