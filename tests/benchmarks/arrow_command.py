"""The command `arrow`: from the bytes of fetch responses to tables, on one core and without a broker."""

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID

import click
from attrs import frozen

from kafka_groups.cli.output import table
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.spark.records.arrow import to_table
from kafka_groups.types import TopicIdPartition
from tests.benchmarks.output import console, finish, say

RECORDS_PER_BATCH: Final = 1_000
BATCHES_PER_RESPONSE: Final = 2
_RECORDS_PER_RESPONSE: Final = RECORDS_PER_BATCH * BATCHES_PER_RESPONSE  # what Kafka's lock limit gives by default
_PARTITION = TopicIdPartition(UUID(int=1), 0, "orders")


@frozen
class Case:
    """What is measured: with or without the checksums, which columns, and values of one size or of many."""

    name: str
    check_crcs: bool
    columns: Sequence[str] | None = None
    value_bytes: Sequence[int] = (100,)


CASES: Final = (
    Case("all columns, checksums", check_crcs=True),
    Case("all columns", check_crcs=False),
    Case("all columns, values of 50 to 150 bytes, checksums", check_crcs=True, value_bytes=range(50, 151)),
    Case("offset, key, value, checksums", check_crcs=True, columns=("offset", "key", "value")),
    Case("value, checksums", check_crcs=True, columns=("value",)),
)


@click.command()
@click.option("--records", type=click.IntRange(_RECORDS_PER_RESPONSE), default=200_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=11, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def arrow(*, records: int, rounds: int, json_file: Path | None) -> None:
    """Records into Arrow: uncompressed, values of 100 bytes, keys of 7, timestamps that differ, no headers.

    Counts the processor time of everything from the bytes of a response to the table.
    """
    count = records // _RECORDS_PER_RESPONSE
    responses = {case.value_bytes: _responses(count, case.value_bytes) for case in CASES}
    rates: dict[str, list[float]] = {case.name: [] for case in CASES}
    for number in range(rounds + 1):
        for case in CASES:
            rate = _rate(case, responses[case.value_bytes])
            if number:  # the first round warms up
                rates[case.name].append(rate)
                say(f"{case.name}: {rate / 1e6:.2f} M records/s")
    console().print(_table(rates))
    finish({"arrow": {"records_per_second": {name: median(of_case) for name, of_case in rates.items()}}}, json_file)


def _responses(count: int, value_bytes: Sequence[int]) -> list[bytes]:
    firsts = range(0, _RECORDS_PER_RESPONSE, RECORDS_PER_BATCH)
    return [
        b"".join(_batch(response * _RECORDS_PER_RESPONSE + first, value_bytes) for first in firsts)
        for response in range(count)
    ]


def _batch(base_offset: int, value_bytes: Sequence[int]) -> bytes:
    rng, first_ms = random.Random(base_offset), 1_700_000_000_000
    records = [
        NewRecord(bytes(rng.choice(value_bytes)), key=b"k%06d" % n, timestamp_ms=first_ms + n)
        for n in range(RECORDS_PER_BATCH)
    ]
    return build_batch(records, base_offset)


def _rate(case: Case, responses: Sequence[bytes]) -> float:
    decoder = Decoder(check_crcs=case.check_crcs)
    began = time.process_time()
    rows = sum(_rows(case, decoder, number, response) for number, response in enumerate(responses))
    return rows / (time.process_time() - began)


def _rows(case: Case, decoder: Decoder, number: int, response: bytes) -> int:
    first = number * _RECORDS_PER_RESPONSE
    acquired = AcquiredRecords(first_offset=first, last_offset=first + _RECORDS_PER_RESPONSE - 1, delivery_count=1)
    delivery = DeliveredRecords(_PARTITION, SessionId(1, 0), [acquired], 1 << 62)
    parts, _ = decoder.split(delivery, response, _RECORDS_PER_RESPONSE)
    rows: int = to_table(ShareRecords(parts), case.columns).num_rows
    return rows


def _table(rates: Mapping[str, Sequence[float]]) -> Any:
    rows = [(name, *(f"{rate / 1e6:.2f}" for rate in (median(r), min(r), max(r)))) for name, r in rates.items()]
    return table("Into Arrow, M records/s of one core", ("columns", "median", "least", "most"), rows)
