"""The command `workers`: handler workers beside programs written by hand, and the figures that they promise."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import click

from kafka_groups.cli.output import table
from tests.benchmarks.brokers import TARGETS, running
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.topics import RECORDS_PER_BATCH, new_topic, produce
from tests.benchmarks.workers import measures, retry_measures
from tests.benchmarks.workers.output_programs import OUTPUT_PROGRAMS, output_topic
from tests.benchmarks.workers.programs import PROGRAMS

__all__ = ["workers"]

_PARTS: Final = ("rates", "outputs", "processes", "delay", "memory", "skewed", "retries", "import")
_BATCHES: Final = tuple(RECORDS_PER_BATCH)
_POOL: Final = "thread pool"
_POOL_RECORDS: Final = 60_000
"""The program with a ThreadPoolExecutor is slow: it gets fewer records."""
_SPINNING_RECORDS: Final = 200_000
_SPINNING_S: Final = 5.0
_OUTPUT_RECORDS: Final = 150_000
_WAITING_RECORDS: Final = 6_000
"""The program whose threads wait for each record is slow: it gets fewer records."""
_OUTPUT_RATIOS: Final = (("output, 1 thread", "loop with flush"), ("output, 1 thread", "waits in 16 threads"))
_RETRIES: Final = 6_000
_WAITING_RETRIES: Final = 100_000
_RATIOS: Final = (
    ("def, 1 thread", "bare loop"),
    ("def, 16 threads", "bare loop"),
    ("def, 16 threads", _POOL),
    ("async def, 100", "tasks by hand"),
)


@click.command()
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, default=_PARTS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--target", type=click.Choice(TARGETS), default="embedded", show_default=True)
@click.option("--batches", type=click.Choice(_BATCHES), default="large", show_default=True)
@click.option("--records", type=click.IntRange(1_000), default=1_000_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def workers(*, parts: Sequence[str], target: str, batches: str, records: int, rounds: int,
            json_file: Path | None) -> None:  # fmt: skip
    """Handler workers: rates as ratios to programs written by hand, outputs, delay, memory, skew, retries, import."""
    figures: dict[str, object] = {}
    with running(target) as servers:
        if "rates" in parts:
            figures["rates"] = _rates(servers, batches, records, rounds)
        if "outputs" in parts:
            figures["outputs"] = _outputs(servers, batches, records, rounds)
        if "processes" in parts:
            figures["processes"] = _processes(servers, batches, rounds)
        if "delay" in parts:
            figures["delay"] = _delay(servers)
        if "memory" in parts:
            figures["memory of 10,000 handlers"] = measures.memory_bytes(servers, 10_000)
            say(f"10,000 waiting handlers: {figures['memory of 10,000 handlers']:,.0f} bytes")
        if "skewed" in parts:
            share, gap_s = measures.skewed_rate(servers, 10)
            figures["skewed"] = {"of the ideal rate": share, "longest gap": gap_s}
            say(f"two workers, skewed: {share:.2f} of the ideal rate, nothing started for {gap_s:.2f} s at most")
        if "retries" in parts:
            figures["retries"] = _retries(servers)
    if "import" in parts:
        figures["import"] = measures.import_s(rounds)
        say(f"import of Worker: {1000 * float(str(figures['import'])):.0f} ms")
    finish({"workers": figures}, json_file)


def _rates(servers: str, batches: str, records: int, rounds: int) -> dict[str, object]:
    topic = new_topic(servers)
    produce(servers, topic, records, batches)
    rates: dict[str, list[float]] = {kind: [] for kind in PROGRAMS}
    for number in range(rounds):
        for kind in PROGRAMS:
            most = min(records, _POOL_RECORDS) if kind == _POOL else records
            rates[kind].append(measures.rate(servers, topic, kind, most).per_second)
            say(f"round {number + 1}, {kind}: {rates[kind][-1]:,.0f} records a second")
    return _compared("Handler workers", rates, _RATIOS)


def _outputs(servers: str, batches: str, records: int, rounds: int) -> dict[str, object]:
    topic = new_topic(servers)
    new_topic(servers, name=output_topic(topic))
    produce(servers, topic, most := min(records, _OUTPUT_RECORDS), batches)
    rates: dict[str, list[float]] = {kind: [] for kind in OUTPUT_PROGRAMS}
    for number in range(rounds):
        for kind in OUTPUT_PROGRAMS:
            count = min(most, _WAITING_RECORDS) if kind.startswith("waits") else most
            rates[kind].append(measures.output_rate(servers, topic, kind, count).per_second)
            say(f"round {number + 1}, {kind}: {rates[kind][-1]:,.0f} records a second")
    return _compared("Outputs of handler workers", rates, _OUTPUT_RATIOS)


def _compared(title: str, rates: dict[str, list[float]], ratios: Sequence[tuple[str, str]]) -> dict[str, object]:
    rows = [(f"{mine} / {other}", f"{_ratio(rates, mine, other):.2f}") for mine, other in ratios]
    console().print(table(title, ("case", "ratio"), rows))
    medians = {kind: median(values) for kind, values in rates.items()}
    return {"records a second": medians, "ratios": dict(rows)}


def _ratio(rates: dict[str, list[float]], mine: str, other: str) -> float:
    return median(rates[mine]) / median(rates[other])


def _processes(servers: str, batches: str, rounds: int) -> float:
    topic = new_topic(servers)
    produce(servers, topic, _SPINNING_RECORDS, batches)
    one, two = (
        median(measures.spinning_rate(servers, topic, processes, _SPINNING_S).per_second for _ in range(rounds))
        for processes in (1, 2)
    )
    say(f"200 µs of Python a record: {one:,.0f} a second in one process, {two:,.0f} in two: {two / one:.2f}")
    return two / one


def _retries(servers: str) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name, is_skewed in (("even", False), ("98 % in one of two partitions", True)):
        late = retry_measures.lateness(servers, _RETRIES, is_skewed=is_skewed)
        figures[name] = attrs.asdict(late)
        say(
            f"6,000 records of retry topics with 2 s and 20 s, {name}: {late.early} early, median"
            f" {late.median_ms:.0f} ms late, 99 %: {late.p99_ms:.0f} ms, most: {late.most_ms:.0f} ms"
        )
    held, most = retry_measures.held_before_their_time(servers, _WAITING_RETRIES)
    figures["held"] = held
    say(f"100,000 records in a retry topic, none due: {held} held, {most} allowed")
    return figures


def _delay(servers: str) -> dict[str, float]:
    middle, late = measures.delay_ms(servers, 1_000, 4)
    say(f"from producing until the handler starts, 100 records a second: {middle:.1f} ms, 99 %: {late:.1f} ms")
    return {"median ms": middle, "99 % ms": late}
