import attrs
import pytest

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.plain.events import EventKind, WorkerEvent, read_event
from kafka_groups.cli.demo.plain.tally import PlainOutcome, PlainTally

DELAYS = ({"UA": Delays(10, 9, 8, 7, 6)}, {"EWR-IAH": Delays(10, 9, 8, 7, 6)})
GOOD = PlainOutcome(published=10, stored=10, delivered=12, accepted=10, redelivered=2, computed=DELAYS, expected=DELAYS)


@pytest.mark.parametrize("kind", EventKind)
def test_event_survives_its_line(kind: EventKind) -> None:
    event = WorkerEvent(kind, 500, 3)
    assert read_event(event.line()) == event


@pytest.mark.parametrize("line", ["", "received", "flew 1 2", "received one 0"])
def test_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"values to unpack|not a valid|invalid literal"):
        read_event(line)


def test_counts_add_up_over_workers() -> None:
    tally = PlainTally()
    tally.worker(0).add(WorkerEvent(EventKind.RECEIVED, 5, 1))
    tally.worker(0).add(WorkerEvent(EventKind.STORED, 5))
    tally.worker(0).add(WorkerEvent(EventKind.ACCEPTED, 3))
    tally.worker(1).add(WorkerEvent(EventKind.RECEIVED, 4, 0))
    tally.worker(1).add(WorkerEvent(EventKind.FAILED, 1))
    assert (tally.delivered, tally.redelivered, tally.accepted, tally.failed) == (9, 1, 3, 1)
    assert tally.in_flight == 2 + 3


def test_killed_worker_holds_nothing() -> None:
    tally = PlainTally()
    tally.worker(0).add(WorkerEvent(EventKind.RECEIVED, 5))
    tally.worker(0).killed = True
    assert (tally.in_flight, tally.delivered) == (0, 5)


@pytest.mark.parametrize("kind", EventKind)
def test_worker_has_not_begun_to_acknowledge_only_right_after_it_received(kind: EventKind) -> None:
    tally = PlainTally()
    tally.worker(0).add(WorkerEvent(kind))
    assert tally.worker(0).holds_unacknowledged is (kind is EventKind.RECEIVED)


def test_outcome_holds() -> None:
    assert GOOD.holds
    assert GOOD.lost == 0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"stored": 9}, "1 published records were not stored"),
        ({"accepted": 9}, "9 of 10 published records were accepted"),
        ({"redelivered": 0}, "the kill had no effect"),
        ({"computed": (DELAYS[0], {"EWR-IAH": Delays(10, 9, 8, 7, 5)})}, "differ from those of the plain computation"),
    ],
)
def test_every_fault_is_named(change: dict[str, object], fault: str) -> None:
    bad = attrs.evolve(GOOD, **change)  # type: ignore[arg-type]
    assert not bad.holds
    (said,) = bad.faults()
    assert fault in said
