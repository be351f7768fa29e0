import pytest

from kafka_groups.cli.records.partition_bounds import bounds_of
from kafka_groups.cli.records.reading_start import ReadingStart
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import OffsetOutOfRangeError
from kafka_groups.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_groups.types import TopicPartition

PLACES = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
OFFSETS = {EARLIEST: (10, 0), LATEST: (30, 5), 1_700: (20, 5)}


async def told(question: Question[TopicPartition, int]) -> Results[TopicPartition, int]:
    """Answers as brokers with some records do."""
    if not question.keys:
        return Results()
    request = question.build(question.keys, 10)
    assert isinstance(request, ListOffsetsRequest)
    timestamp = request.topics[0].partitions[0].timestamp
    return Results(dict(zip(PLACES, OFFSETS[timestamp], strict=True)))


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        (ReadingStart("earliest"), (10, 0)),
        (ReadingStart("latest"), (30, 5)),
        (ReadingStart(3), (10, 3)),
        (ReadingStart(5), (10, 5)),
        (ReadingStart(-4), (26, 1)),
        (ReadingStart(-25), (10, 0)),
        (ReadingStart("", 1_700), (20, 5)),
    ],
)
async def test_each_partition_has_bounds(start: ReadingStart, begins: tuple[int, int]) -> None:
    found = await bounds_of(told, PLACES, start, committed=True)  # type: ignore[arg-type] # one kind of question
    assert found == {PLACES[0]: (begins[0], 30), PLACES[1]: (begins[1], 5)}


async def test_an_offset_behind_the_end_is_refused() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="orders-1 has the offsets 0 to 5, and 6 is behind its end"):
        await bounds_of(told, PLACES, ReadingStart(6), committed=True)  # type: ignore[arg-type] # as above
