"""Marks of offsets against naive models: what goes onto the wire, replacing, runs, splitting."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.share.delivery import marks as m

MARKS = st.sampled_from([m.OPEN, m.NOT_ACQUIRED, m.SENT, m.GAP, m.ACCEPT, m.RELEASE, m.REJECT, m.RENEW])
RUNS = st.lists(st.tuples(MARKS, st.integers(1, 25)), max_size=12)
ROWS = RUNS.map(lambda runs: b"".join(bytes([mark]) * length for mark, length in runs)) | st.lists(MARKS).map(bytes)


def decoded(batches: tuple[AcknowledgementBatch, ...]) -> dict[int, int]:
    """Offset → type, as the broker reads the batches; an offset that comes twice is an error."""
    types: dict[int, int] = {}
    for batch in batches:
        size = batch.last_offset - batch.first_offset + 1
        assert len(batch.acknowledge_types) in (1, size)
        of_batch = batch.acknowledge_types * (size if len(batch.acknowledge_types) == 1 else 1)
        for position, kind in enumerate(of_batch):
            assert batch.first_offset + position not in types
            types[batch.first_offset + position] = kind
    return types


@given(ROWS, st.integers(0, 2**62))
def test_every_acknowledged_offset_is_sent_once_with_its_type_and_no_other_is(row: bytes, first_offset: int) -> None:
    expected = {first_offset + position: mark for position, mark in enumerate(row) if mark <= m.RENEW}
    assert decoded(m.encode_batches(row, first_offset)) == expected


@given(ROWS)
def test_batches_ascend_without_overlap(row: bytes) -> None:
    last = -1
    for batch in m.encode_batches(row, 0):
        assert last < batch.first_offset <= batch.last_offset
        last = batch.last_offset


@given(ROWS)
def test_more_than_ten_equal_types_are_one_batch_with_one_type(row: bytes) -> None:
    batches = m.encode_batches(row, 0)
    for kind in range(m.RENEW + 1):
        for first, last in m.runs_of(row, kind):
            if last - first + 1 > 10:
                wanted = AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,))
                assert wanted in batches
    for batch in batches:
        if len(batch.acknowledge_types) > 1:
            kinds = bytes(batch.acknowledge_types)
            assert all(bytes([kind]) * 11 not in kinds for kind in range(m.RENEW + 1))


@given(ROWS, st.lists(MARKS, max_size=4).map(bytes), MARKS, st.integers(0, 60), st.integers(0, 60))
def test_replace(row: bytes, old: bytes, new: int, start: int, length: int) -> None:
    marks = bytearray(row)
    m.replace(marks, old, new, start, start + length)
    expected = [
        new if start <= position < start + length and mark in old else mark for position, mark in enumerate(row)
    ]
    assert list(marks) == expected


@given(ROWS, MARKS)
def test_runs_cover_exactly_the_positions_of_the_mark_and_are_maximal(row: bytes, mark: int) -> None:
    runs = list(m.runs_of(row, mark))
    covered = [position for first, last in runs for position in range(first, last + 1)]
    assert covered == [position for position, other in enumerate(row) if other == mark]
    assert all(earlier[1] + 1 < later[0] for earlier, later in itertools.pairwise(runs))


@given(st.sampled_from([m.ACCEPT, m.RELEASE]), st.integers(1, 30))
def test_one_type_for_short_stretches_too(kind: int, length: int) -> None:
    (batch,) = m.encode_batches(bytes([kind]) * length, 5)
    assert batch == AcknowledgementBatch(first_offset=5, last_offset=4 + length, acknowledge_types=(kind,))


@settings(max_examples=5)
@given(st.just(200_000))
def test_a_large_delivery_is_few_batches(size: int) -> None:
    row = bytes([m.ACCEPT]) * size + bytes([m.REJECT, m.ACCEPT]) + bytes([m.ACCEPT]) * size
    assert len(m.encode_batches(row, 0)) == 3
