import pytest

from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from tests.unit.share.dead_letters.made_letters import dlq_headers, made_letter

LETTER = made_letter(5, dlq_headers(partition=1, reason="KeyError: 'plum'"), timestamp_ms=1_000, partition=2)


@pytest.mark.parametrize(
    "selection",
    [
        EVERYTHING,
        DeadLetterSelection(since_ms=1_000),
        DeadLetterSelection(until_ms=1_001),
        DeadLetterSelection(origin_topic="orders"),
        DeadLetterSelection(origin_topic="orders", origin_partition=1),
        DeadLetterSelection(reason="keyerror"),
        DeadLetterSelection(places=frozenset({RecordPlace(2, 5), RecordPlace(0, 0)})),
        DeadLetterSelection(since_ms=0, until_ms=2_000, origin_topic="orders", reason="PLUM"),
    ],
)
def test_what_fits_is_selected(selection: DeadLetterSelection) -> None:
    assert LETTER in selection


@pytest.mark.parametrize(
    "selection",
    [
        DeadLetterSelection(since_ms=1_001),
        DeadLetterSelection(until_ms=1_000),
        DeadLetterSelection(origin_topic="order"),
        DeadLetterSelection(origin_topic="orders", origin_partition=0),
        DeadLetterSelection(reason="pear"),
        DeadLetterSelection(places=frozenset({RecordPlace(5, 2)})),
        DeadLetterSelection(since_ms=0, reason="pear"),
    ],
)
def test_what_does_not_fit_is_left_out(selection: DeadLetterSelection) -> None:
    assert LETTER not in selection
    assert selection


def test_a_record_without_headers_has_neither_origin_nor_reason() -> None:
    plain = made_letter(0, [])
    assert plain in EVERYTHING
    assert plain not in DeadLetterSelection(origin_topic="orders")
    assert plain not in DeadLetterSelection(reason="plum")
    assert not EVERYTHING
