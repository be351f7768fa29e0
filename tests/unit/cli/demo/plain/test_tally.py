import attrs
import pytest

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.plain.tally import PlainOutcome, PlainTally

DELAYS = ({"UA": Delays(10, 9, 8, 7, 6)}, {"EWR-IAH": Delays(10, 9, 8, 7, 6)})
GOOD = PlainOutcome(published=10, stored=10, delivered=12, accepted=10, redelivered=2, computed=DELAYS, expected=DELAYS)


def test_counts_add_up_over_reports() -> None:
    tally = PlainTally()
    for delivered, redelivered in ((5, 1), (4, 0)):
        tally.add({"delivered": delivered, "redelivered": redelivered})
    tally.add({"accepted": 3})
    tally.add({"failed": 1})
    assert (tally.delivered, tally.redelivered, tally.accepted, tally.failed) == (9, 1, 3, 1)
    assert tally.in_flight == 2 + 3


def test_killed_worker_holds_nothing() -> None:
    tally = PlainTally()
    tally.add({"delivered": 5})
    tally.add({"held": 5})
    assert (tally.in_flight, tally.delivered) == (0, 5)


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(AttributeError):
        PlainTally().add({"flown": 1})


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
