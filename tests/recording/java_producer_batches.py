"""Record batches as the producer of Kafka 4.4.0 writes them, recorded.

`python -m tests.recording.java_producer_batches` records them again. It needs Java 17 and Maven.
"""

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import Header
from tests.support.kafka.java_program import JavaProgram, LineProgram
from tests.support.kafka.kafka_classpath import kafka_classpath, kafka_libs

__all__ = ["DRIVER", "RecordedBatch", "java_reading", "recorded", "some_records"]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "producer_batches.json"
DRIVER: Final = "BatchDriver"
_NOW_MS: Final = 1_700_000_000_123
_LAST_SEQUENCE, _LAST_EPOCH = 2**31 - 1, 32_767


class RecordedBatch(NamedTuple):
    """A batch: its producer and numbers, its records, and the bytes that Java writes."""

    producer: ProducerIdAndEpoch
    sequence: int
    is_transactional: bool
    records: Sequence[NewRecord]
    data: bytes


_CASES: Final[Sequence[tuple[ProducerIdAndEpoch, int, bool, Sequence[NewRecord]]]] = (
    (ProducerIdAndEpoch(0, 0), 0, False, (NewRecord(b"v", b"k", 0),)),
    (ProducerIdAndEpoch(4_711, 3), 42, False, (NewRecord(None, b"k", _NOW_MS), NewRecord(b"v", None, _NOW_MS + 1))),
    (ProducerIdAndEpoch(1, _LAST_EPOCH), _LAST_SEQUENCE, True, (NewRecord(b"", b"", 0), NewRecord(None, None, 5))),
    (
        ProducerIdAndEpoch(2**62, 1),
        7,
        True,
        (
            NewRecord(b"a", b"1", _NOW_MS, (("h", b"1"), ("h", None), ("Zürich ✈", b""))),
            NewRecord(b"b" * 300, b"2" * 200, _NOW_MS - 70_000),
            NewRecord(b"c", b"3", 0),
            NewRecord(b"d", b"4", 2**62),
        ),
    ),
)  # fmt: skip


def some_records(rng: random.Random, count: int) -> list[NewRecord]:
    """Records of many kinds."""
    return [
        NewRecord(
            rng.choice([None, b"", rng.randbytes(rng.randrange(1, 200))]),
            rng.choice([None, b"", rng.randbytes(rng.randrange(1, 40))]),
            rng.choice([0, _NOW_MS + rng.randrange(-(10**9), 10**9)]),
            tuple(("n" * rng.randrange(1, 5), rng.choice([None, rng.randbytes(3)])) for _ in range(rng.randrange(3))),
        )
        for _ in range(count)
    ]


def recorded() -> list[RecordedBatch]:
    """The batches that Java has written."""
    return [
        RecordedBatch(
            ProducerIdAndEpoch(producer_id, epoch),
            sequence,
            is_transactional,
            [*map(_record, words)],
            bytes.fromhex(data),
        )
        for producer_id, epoch, sequence, is_transactional, words, data in json.loads(GOLDEN.read_text("utf-8"))
    ]


def java_reading(driver: LineProgram, data: bytes) -> tuple[ProducerIdAndEpoch, int, bool, list[NewRecord]]:
    """The parts of a batch that Java reads, whose checksum it checks."""
    producer_id, epoch, sequence, is_transactional, *words = driver.ask("read", _hex(data))
    producer = ProducerIdAndEpoch(int(producer_id), int(epoch))
    return producer, int(sequence), is_transactional == "true", [*map(_record, words)]


def _record(word: str) -> NewRecord:
    timestamp, key, value, *headers = word.split(",")
    return NewRecord(_bytes(value), _bytes(key), int(timestamp), tuple(map(_header, headers)))


def _header(word: str) -> Header:
    name, _, value = word.partition("=")
    return bytes.fromhex(name[1:]).decode(), _bytes(value)


def _word(record: NewRecord) -> str:
    headers = [f"{_hex(name.encode())}={_hex(value)}" for name, value in record.headers]
    return ",".join([str(record.timestamp_ms), _hex(record.key), _hex(record.value), *headers])


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else bytes.fromhex(word[1:])


def _hex(data: bytes | None) -> str:
    return "-" if data is None else f"x{data.hex()}"


def _record_all(driver: LineProgram) -> Iterator[tuple[object, ...]]:
    more = (ProducerIdAndEpoch(9, 9), 1_000, False, some_records(random.Random(1), 20))
    for producer, sequence, is_transactional, records in (*_CASES, more):
        words = [*map(_word, records)]
        parts = (producer.producer_id, producer.epoch, sequence)
        [data] = driver.ask("write", *map(str, parts), str(is_transactional).lower(), *words)
        yield (*parts, is_transactional, words, data)


def main() -> None:
    """Record what Java writes."""
    with (
        tempfile.TemporaryDirectory() as directory,
        JavaProgram(DRIVER, Path(directory), kafka_classpath(kafka_libs())) as driver,
    ):
        lines = ",\n".join(json.dumps(each) for each in _record_all(driver))
    GOLDEN.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
