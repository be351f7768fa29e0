"""The figures of Spark as tables for people and as JSON for programs."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from kafka_groups.cli.output import table
from tests.benchmarks.spark_measures import THROUGHPUT_BATCH, BySize, Ceiling, Pair
from tests.benchmarks.spark_runs import Outcome, outcome_as_json


def throughput_table(pair: Pair) -> Table:
    """Workers against Spark's own Kafka source, and their ratio."""
    rows = [
        ("ShareWorkers", *_throughput_row(pair.ours)),
        ("Spark's own Kafka source", *_throughput_row(pair.own)),
        ("ratio", f"{pair.ratio(_rate):.2f}", "", "", f"{pair.ratio(_cpu):.2f}", ""),
    ]
    columns = ("", "k records/s", "least", "most", "us CPU a record", "s a batch")
    return table(f"Throughput, {THROUGHPUT_BATCH:,} records a micro-batch, counted in Python", columns, rows)


def throughput_as_json(pair: Pair) -> dict[str, Any]:
    """All rounds of both sides."""
    return {"rate_ratio": pair.ratio(_rate), "cpu_ratio": pair.ratio(_cpu), **_pair_as_json(pair)}


def overhead_table(pairs: Mapping[str, Pair]) -> Table:
    """The median micro-batch of each, and how it compares with Spark's own."""
    rows = []
    for name, pair in pairs.items():
        ours, own = _median_seconds(pair.ours), _median_seconds(pair.own)
        rows.append((name, f"{ours:.3f}", f"{own:.3f}", f"{pair.ratio(_seconds):.2f}"))
    return table("Overhead, s a micro-batch of next to nothing", ("", "ours", "Spark's own", "ratio"), rows)


def overhead_as_json(pairs: Mapping[str, Pair]) -> dict[str, Any]:
    """All rounds of both sides."""
    return {kind: {"ratio": pair.ratio(_seconds), **_pair_as_json(pair)} for kind, pair in pairs.items()}


def drained_table(pairs: Mapping[int, Pair]) -> Table:
    """Blocks of a drain against Spark's own reads, by the records of a block."""
    rows = []
    for records, pair in pairs.items():
        rates = (f"{median(map(_rate, outcomes)) / 1e3:.0f}" for outcomes in (pair.ours, pair.own))
        seconds = (f"{_median_seconds(outcomes):.3f}" for outcomes in (pair.ours, pair.own))
        ratios = (f"{pair.ratio(of):.2f}" for of in (_rate, _cpu))
        rows.append((f"{records:,}", *rates, *seconds, *ratios))
    columns = (
        "records a block", "k records/s, drain", "Spark's own read", "s a block, drain", "Spark's own", "rate", "CPU",
    )  # fmt: skip
    return table("Drain, against Spark's own batch read of the same topic, counted in Python", columns, rows)


def drained_as_json(pairs: Mapping[int, Pair]) -> dict[str, Any]:
    """By the records of a block: all rounds of both sides."""
    return {str(records): throughput_as_json(pair) for records, pair in pairs.items()}


def workers_table(measured: BySize) -> Table:
    """What a record costs workers, by the records of a micro-batch."""
    outcomes = measured.outcomes
    rows = [
        (
            f"{size:,}",
            f"{outcome.records_per_second / 1e3:.0f}",
            f"{outcome.median_seconds:.3f}",
            f"{measured.net_us_per_record(outcome):.2f}",
            f"{outcome.task_us_per_record:.2f}",
            *(f"{seconds / outcome.total_records * 1e6:.2f}" for seconds in outcome.task_seconds.values()),
        )
        for size, outcome in outcomes.items()
    ]
    parts = next(iter(outcomes.values())).task_seconds
    columns = ("records a batch", "k records/s", "s a batch", "net us a record", "us a record in a task", *parts)
    return table("ShareWorkers, cost of a record by the size of the micro-batch", columns, rows)


def workers_as_json(measured: BySize) -> dict[str, Any]:
    """By the records of a micro-batch."""
    by_size = {
        str(size): {
            **outcome_as_json(outcome),
            "net_us_per_record": measured.net_us_per_record(outcome),
            "task_us_per_record": outcome.task_us_per_record,
        }
        for size, outcome in measured.outcomes.items()
    }
    return {"next to nothing": outcome_as_json(measured.fixed), **by_size}


def source_table(ceilings: Sequence[Ceiling]) -> Table:
    """What the source reached of what the locks allow."""
    rows = [
        (
            f"{ceiling.locks:,}",
            f"{ceiling.outcome.records_per_batch:,.0f}",
            f"{ceiling.outcome.median_seconds:.3f}",
            f"{ceiling.outcome.records_per_second / 1e3:.1f}",
            f"{ceiling.records_per_second / 1e3:.1f}",
            f"{ceiling.fraction:.2f}",
            f"{ceiling.net_us_per_record:.1f}",
            f"{ceiling.own.records_per_second / 1e3:.1f}" if ceiling.own else "",
        )
        for ceiling in ceilings
    ]
    columns = (
        "locks", "records a batch", "s a batch", "k records/s", "ceiling", "reached", "net us a record", "Spark's own",
    )  # fmt: skip
    return table("The source, by the locks of a partition and the size of the micro-batch", columns, rows)


def source_as_json(ceilings: Sequence[Ceiling]) -> list[dict[str, Any]]:
    """A case for each number of locks and each size."""
    return [
        {
            "locks": ceiling.locks,
            "ceiling_records_per_second": ceiling.records_per_second,
            "fraction": ceiling.fraction,
            "net_us_per_record": ceiling.net_us_per_record,
            **outcome_as_json(ceiling.outcome),
            "own": None if ceiling.own is None else outcome_as_json(ceiling.own),
        }
        for ceiling in ceilings
    ]


def _throughput_row(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    rates = [_rate(outcome) / 1e3 for outcome in outcomes]
    cpu = median(_cpu(outcome) for outcome in outcomes)
    return (*(f"{of(rates):.0f}" for of in (median, min, max)), f"{cpu:.2f}", f"{_median_seconds(outcomes):.3f}")


def _pair_as_json(pair: Pair) -> dict[str, Any]:
    return {
        "ours": [outcome_as_json(outcome) for outcome in pair.ours],
        "own": [outcome_as_json(outcome) for outcome in pair.own],
    }


def _median_seconds(outcomes: Sequence[Outcome]) -> float:
    return median(outcome.median_seconds for outcome in outcomes)


def _rate(outcome: Outcome) -> float:
    return outcome.records_per_second


def _cpu(outcome: Outcome) -> float:
    return outcome.cpu_us_per_record


def _seconds(outcome: Outcome) -> float:
    return outcome.median_seconds
