"""Source partitions that are paused, over brokers in memory."""

from kafka_groups.streams import StreamsBuilder, serdes
from kafka_groups.streams.processors.extractors import skip_invalid
from kafka_groups.types import TopicPartition
from tests.unit.streams.runtime.counting import INPUT, Process, brokers


async def test_a_partition_is_read_again_when_all_that_waited_was_skipped() -> None:
    builder = StreamsBuilder()
    builder.stream("words", key=serdes.string, value=serdes.string, timestamp=skip_invalid).to("totals")
    kafka = brokers()
    for _ in range(30):
        kafka.produce("words", "late", "", timestamp_ms=-1)
    process = Process(kafka, topology=builder.build(), buffered_records=5, max_poll_records=30)
    paused: list[TopicPartition] = []
    pause = process.plane.pause

    async def noted(partitions: list[TopicPartition]) -> None:
        paused.extend(partitions)
        await pause(partitions)

    process.plane.pause = noted  # type: ignore[method-assign, assignment]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(30))
    assert paused == [INPUT]
    kafka.produce("words", "good", "", timestamp_ms=1)
    await process.turn_until(lambda: process.has_committed(31))
    assert len(kafka.values("totals")) == 1
