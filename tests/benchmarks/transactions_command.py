"""The command `transactions`: how many a second, against a real Kafka; many open ids; many partitions."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import click

from kafka_groups.cli.output import table
from tests.benchmarks import transactions as measures
from tests.benchmarks.brokers import BrokerProcess, embedded, running
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.transactions import Rate

__all__ = ["transactions"]

_PARTS: Final = ("rate", "wide", "ids")
_PRODUCERS: Final = (1, 8)
_WIDE: Final = 100
_MANY_PARTITIONS: Final = {"transaction.state.log.num.partitions": "50"}


@click.command()
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, default=_PARTS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--count", type=click.IntRange(8), default=2_000, show_default=True, help="Transactions of a round.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--ids", type=click.IntRange(1), default=10_000, show_default=True, help="Open transactional ids.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def transactions(*, parts: Sequence[str], count: int, rounds: int, ids: int, json_file: Path | None) -> None:
    """Transactions of 100 records on an embedded broker and on a real Kafka, by turns; and their memory."""
    figures: dict[str, object] = {}
    if "rate" in parts or "wide" in parts:
        with embedded(settings=_MANY_PARTITIONS) as broker, running("kafka", _MANY_PARTITIONS) as kafka:
            if "rate" in parts:
                figures["rate"] = _rates(broker, kafka, count, rounds)
            if "wide" in parts:
                figures["wide"] = _wide(broker.bootstrap_servers, kafka, rounds)
    if "ids" in parts:
        with embedded() as broker:
            figures["bytes of an open id"] = measures.open_ids(broker, ids, say)
    finish({"transactions": figures}, json_file)


def _rates(broker: BrokerProcess, kafka: str, count: int, rounds: int) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = {}
    rows = []
    for producers in _PRODUCERS:
        ours: list[Rate] = []
        theirs: list[Rate] = []
        for number in range(rounds + 1):
            ours.append(measures.rate(broker.bootstrap_servers, producers, count, broker))
            theirs.append(measures.rate(kafka, producers, count))
            say(f"{producers} producers: {ours[-1].per_second:.0f} a second, Kafka {theirs[-1].per_second:.0f}")
            if number == 0:  # it warmed them up
                ours.clear()
                theirs.clear()
        own, other = (median(each.per_second for each in rates) for rates in (ours, theirs))
        cpu_ms = median(each.broker_cpu_s / each.transactions for each in ours) * 1000
        figures[str(producers)] = {"embedded": own, "kafka": other, "broker CPU ms": cpu_ms}
        rows.append((str(producers), f"{own:.0f}", f"{other:.0f}", f"{own / other:.2f}", f"{cpu_ms:.2f}"))
    columns = ("producers", "embedded", "Kafka", "ratio", "broker's ms of CPU for each")
    console().print(table("Transactions of 100 records a second", columns, rows))
    return figures


def _wide(ours: str, kafka: str, rounds: int) -> dict[str, float]:
    figures = {"embedded": measures.wide(ours, _WIDE, rounds), "kafka": measures.wide(kafka, _WIDE, rounds)}
    say(f"{_WIDE} partitions: {figures['embedded'] * 1000:.0f} ms, Kafka {figures['kafka'] * 1000:.0f} ms")
    return figures
