"""Decoding against a naive model: random batches, gaps, corruption, holes and cuts; every offset is accounted for."""

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import build_control_batch
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.types import AcknowledgeType
from tests.unit.share.deliveries import acquired, batch, decoded

PIECES = st.lists(
    st.tuples(
        st.integers(1, 5),  # offsets of the batch
        st.sampled_from(["good", "good", "good", "gapped", "corrupt", "control"]),
        st.integers(0, 2),  # offsets between it and the next
    ),
    min_size=1,
    max_size=8,
)
HOLES = st.sets(st.integers(0, 50), max_size=12)


def blob_of(pieces: list[tuple[int, str, int]]) -> tuple[bytes, dict[int, str], int]:
    """The bytes, what is at each offset, and the offset after the last."""
    blob, at, offset = b"", dict[int, str](), 0
    for length, kind, distance in pieces:
        size = 1 if kind == "control" else length
        missing = {offset} if kind == "gapped" else set[int]()
        last = offset + size - 1
        piece = build_control_batch(offset, is_commit=True, producer_id=1) if kind == "control" else b""
        piece = piece or batch(offset, last, missing=missing if size > 1 else ())
        if kind == "corrupt":
            piece = piece[:-1] + bytes([piece[-1] ^ 1])
        at |= dict.fromkeys(range(offset, last + 1), "record" if kind in ("good", "gapped") else kind)
        at |= dict.fromkeys(missing if size > 1 else (), "gap")
        blob += piece
        offset = last + 1 + distance
    return blob, at, offset


def ranges_of(offsets: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1] = (ranges[-1][0], offset)
        else:
            ranges.append((offset, offset))
    return ranges


MARKS = {
    "record": m.OPEN,
    "gap": AcknowledgeType.GAP,
    "control": AcknowledgeType.GAP,
    "nothing": AcknowledgeType.GAP,
    "corrupt": AcknowledgeType.REJECT,
}


def _failing(offsets: set[int]) -> "Decoder":
    def deserialize(raw: bytes) -> int:
        number = int(raw.removeprefix(b"v"))
        if number in offsets:
            raise ValueError(number)
        return number

    return Decoder(value_deserializer=deserialize, raise_errors=True)


@settings(max_examples=150)
@example([(2, "good", 0), (1, "corrupt", 0), (1, "good", 0)], {2})
@given(PIECES, HOLES)
def test_every_acquired_offset_is_delivered_or_decided(pieces: list[tuple[int, str, int]], holes: set[int]) -> None:
    blob, at, end = blob_of(pieces)
    wanted = [offset for offset in range(end) if offset not in holes]
    if not wanted:
        return
    delivery = acquired(*ranges_of(wanted))
    result = decoded(Decoder(), delivery, blob)

    for position, mark in enumerate(delivery.marks):
        offset = delivery.first_offset + position
        assert mark == (m.NOT_ACQUIRED if offset in holes else MARKS[at.get(offset, "nothing")])
    expected = [offset for offset in wanted if at.get(offset) == "record"]
    assert [(record.offset, record.value) for record in delivery] == [(o, b"v%d" % o) for o in expected]
    assert len(delivery) == len(expected)
    has_corrupt = any(at.get(offset) == "corrupt" for offset in wanted)
    assert len(result) == 1 or has_corrupt


@settings(max_examples=100)
@given(PIECES, st.sets(st.integers(0, 50), max_size=8), HOLES)
def test_raising_deserialisers_split_without_losing_an_offset(
    pieces: list[tuple[int, str, int]], bad: set[int], holes: set[int]
) -> None:
    blob, at, end = blob_of(pieces)
    wanted = [offset for offset in range(end) if offset not in holes]
    if not wanted:
        return
    result = decoded(_failing(bad), acquired(*ranges_of(wanted)), blob)
    marks: dict[int, int] = {}
    delivered: list[int] = []
    for part in result:
        if isinstance(part, DeliveredRecords):
            delivered += [record.offset for record in part]
            for position, mark in enumerate(part.marks):
                if mark != m.NOT_ACQUIRED:
                    assert part.first_offset + position not in marks
                    marks[part.first_offset + position] = mark
    records = [offset for offset in wanted if at.get(offset) == "record"]
    assert delivered == [offset for offset in records if offset not in bad]
    expected = {offset: MARKS[at.get(offset, "nothing")] for offset in wanted}
    assert marks == expected | {offset: AcknowledgeType.RELEASE for offset in records if offset in bad}


@settings(max_examples=100)
@given(PIECES, st.data())
def test_a_cut_within_a_batch_loses_nothing(pieces: list[tuple[int, str, int]], data: st.DataObject) -> None:
    blob, at, end = blob_of([(size, "good" if kind == "corrupt" else kind, d) for size, kind, d in pieces])
    whole = set(itertools.accumulate(len(piece.data) for piece in iter_batches(blob)))
    cut = data.draw(st.integers(1, len(blob) - 1).filter(lambda at: at not in whole))
    delivery = acquired((0, end - 1))
    decoded(Decoder(), delivery, blob[:cut])
    readable = [record.offset for record in delivery]
    for offset, mark in enumerate(delivery.marks):
        if at.get(offset) == "record" and offset not in readable:
            assert mark == AcknowledgeType.RELEASE
        elif offset in readable:
            assert mark == m.OPEN
