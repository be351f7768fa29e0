"""The command with a part for each topic: `share`, `streams`, `topologies`, `guard` and so on; `all` runs several."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from tests.benchmarks import measures, pauses, report, sharing, versions
from tests.benchmarks.applications.command import applications
from tests.benchmarks.arrow_command import arrow
from tests.benchmarks.assignors_command import assignors
from tests.benchmarks.authorization_command import authorization
from tests.benchmarks.brokers import SECURED, TARGETS, embedded, running
from tests.benchmarks.classic import CLASSIC
from tests.benchmarks.consumers import MODES
from tests.benchmarks.coordination import COORDINATION
from tests.benchmarks.guard.command import guard
from tests.benchmarks.interruption import ending_at_sigterm
from tests.benchmarks.kept_state.command import kept_state
from tests.benchmarks.leading_command import leading
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.planning_command import planning
from tests.benchmarks.printing_command import printing
from tests.benchmarks.rounds_command import rounds
from tests.benchmarks.spark_command import spark
from tests.benchmarks.state_command import state
from tests.benchmarks.streams_command import streams
from tests.benchmarks.topics import RECORDS_PER_BATCH
from tests.benchmarks.topologies_command import topologies
from tests.benchmarks.transactions_command import transactions
from tests.benchmarks.workers.command import workers

BATCHES = tuple(RECORDS_PER_BATCH)

Command = Callable[..., None]

_PARTS = {**COORDINATION, **CLASSIC}

_records = click.option("--records", type=click.IntRange(10), default=1_000_000, show_default=True)
_rounds = click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
_warm_up = click.option("--warm-up", "warm_up_rounds", type=click.IntRange(0), default=2, show_default=True,
                        help="Rounds of both clients that are not counted.")  # fmt: skip
_targets = click.option("--target", "targets", type=click.Choice((*TARGETS, SECURED)), multiple=True, default=TARGETS,
                        show_default=True, help="May be given twice.")  # fmt: skip
_batches = click.option("--batches", "sizes", type=click.Choice(BATCHES), multiple=True, default=BATCHES,
                        show_default=True, help="Records per producer batch: 1,100 or 150.")  # fmt: skip
_modes = click.option("--mode", "modes", type=click.Choice(MODES), multiple=True, default=MODES, show_default=True)
_against = click.option("--against", "checkout", type=click.Path(path_type=Path, exists=True, file_okay=False),
                        help="Compare with our client in this checkout instead of confluent-kafka's.")  # fmt: skip
_opponent_records = click.option("--opponent-max-poll-records", "opponent_records", type=click.IntRange(1),
                                 help="max.poll.records of confluent-kafka's client.")  # fmt: skip
_json = click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")


@click.group()
def main() -> None:
    """Measure the share consumer and the embedded broker; every figure is a ratio or a median of interleaved runs."""
    click.get_current_context().with_resource(ending_at_sigterm())


main.add_command(applications)
main.add_command(arrow)
main.add_command(assignors)
main.add_command(authorization)
main.add_command(guard)
main.add_command(rounds)
main.add_command(spark)
main.add_command(kept_state)
main.add_command(leading)
main.add_command(planning)
main.add_command(printing)
main.add_command(state)
main.add_command(streams)
main.add_command(topologies)
main.add_command(transactions)
main.add_command(workers)


@main.command()
@_records
@_rounds
@_warm_up
@_targets
@_batches
@_modes
@_against
@_opponent_records
@_json
def share(
    *,
    records: int,
    rounds: int,
    warm_up_rounds: int,
    targets: Sequence[str],
    sizes: Sequence[str],
    modes: Sequence[str],
    checkout: Path | None,
    opponent_records: int | None,
    json_file: Path | None,
) -> None:
    """Our share consumer against confluent-kafka's: records per second, CPU per record, time within polls."""
    opponent_keys = {"max.poll.records": opponent_records} if opponent_records else {}
    extent = measures.Extent(records, rounds, warm_up_rounds, checkout, opponent_keys)
    finish({"share": _share(targets, sizes, modes, extent)}, json_file)


@main.command("end-to-end")
@_records
@_rounds
@_batches
@_json
def end_to_end(records: int, rounds: int, sizes: Sequence[str], json_file: Path | None) -> None:
    """Produce to the embedded broker and consume from it at the same time."""
    finish({"end_to_end": _end_to_end(sizes, measures.Extent(records, rounds))}, json_file)


@main.command()
@_targets
@click.option("--seconds", type=click.FloatRange(0.5), default=6.0, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--partitions", type=click.IntRange(1), multiple=True, default=(1, 4), show_default=True)
@_json
def fairness(
    *, targets: Sequence[str], seconds: float, rounds: int, partitions: Sequence[int], json_file: Path | None
) -> None:
    """What members of one group get beside each other, with adaptive fetches and with fetches of 500 records."""
    shared: list[sharing.Shared] = []
    for target in targets:
        with running(target) as bootstrap_servers:
            for count in partitions:
                shared += sharing.share_out(bootstrap_servers, target, count, seconds, rounds, say)
    console().print(report.fairness_table(shared))
    finish({"fairness": [attrs.asdict(each) for each in shared]}, json_file)


@main.command()
@click.option("--against", "checkout", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="Compare with our client in this checkout.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.5), default=20.0, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@_json
def latency(*, checkout: Path, seconds: float, rounds: int, json_file: Path | None) -> None:
    """A record every 10 ms: how long it takes from the producer to the application, on a real Kafka."""
    with running("kafka") as bootstrap_servers:
        figures = sharing.latency(bootstrap_servers, seconds, rounds, checkout, say)
    console().print(report.latency_table(figures))
    finish({"latency": figures}, json_file)


@main.command()
@click.option("--records", type=click.IntRange(100), default=10_000_000, show_default=True)
@_targets
@_json
def memory(records: int, targets: Sequence[str], json_file: Path | None) -> None:
    """Resident memory of our client after all records, against that after a tenth of them."""
    finish({"memory": _memory(records, targets)}, json_file)


@main.command("broker")
@click.option("--against", "checkout", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="Compare with the embedded broker in this checkout.")  # fmt: skip
@click.option("--records", type=click.IntRange(60_000), default=1_000_000, show_default=True)
@_rounds
@click.option("--brokers", "sizes", type=click.IntRange(1), multiple=True, default=(1, 3), show_default=True,
              help="Brokers of each cluster.")  # fmt: skip
@_json
def broker(*, checkout: Path, records: int, rounds: int, sizes: Sequence[int], json_file: Path | None) -> None:
    """The embedded broker against that of another checkout, with the same client: rates, its CPU, its memory."""
    compared = [versions.compare(checkout.resolve(), size, records, rounds, say) for size in sizes]
    for each in compared:
        console().print(report.versions_table(each))
    finish({"broker": [versions.as_json(each) for each in compared]}, json_file)


@main.command()
@click.option("--part", "parts", type=click.Choice(tuple(_PARTS)), multiple=True, default=tuple(_PARTS),
              show_default=True, help="May be given more than once.")  # fmt: skip
@click.option("--fraction", type=click.FloatRange(1e-4, 1.0), default=1.0, show_default=True,
              help="Of the heartbeats, groups, records and commits.")  # fmt: skip
@_json
def coordinators(*, parts: Sequence[str], fraction: float, json_file: Path | None) -> None:
    """The embedded broker's coordinators: heartbeats, loading, a long run, rebalances, commits. Some 30 minutes."""
    measured = {part: asyncio.run(_PARTS[part](fraction, say)) for part in parts}
    finish(measured, json_file)


@main.command("pauses")
@click.option("--items", type=click.IntRange(1), default=100_000, show_default=True, help="Items of each request.")
@click.option("--records", type=click.IntRange(1_000), default=200_000, show_default=True,
              help="Records that the cleaner compacts.")  # fmt: skip
@_targets
@_json
def pauses_command(*, items: int, records: int, targets: Sequence[str], json_file: Path | None) -> None:
    """Heartbeats of one connection while a broker serves requests with very many items, or compacts logs."""
    measured = {}
    with embedded(settings=pauses.CLEANING_SETTINGS) as broker:
        measured["embedded, cleaner"] = asyncio.run(pauses.while_cleaning(broker.bootstrap_servers, records, say))
    console().print(report.pauses_table("embedded, cleaner", measured["embedded, cleaner"]))
    for target in targets:
        with running(target) as bootstrap_servers:
            measured[target] = asyncio.run(pauses.measured(bootstrap_servers, items, say))
        console().print(report.pauses_table(target, measured[target]))
    finish(
        {"pauses": {target: [attrs.asdict(each) for each in found] for target, found in measured.items()}}, json_file
    )


@main.command("all")
@_records
@_rounds
@_warm_up
@_json
def everything(records: int, rounds: int, warm_up_rounds: int, json_file: Path | None) -> None:
    """All measures on both brokers; the memory with ten times the records. Some 20 minutes."""
    extent = measures.Extent(records, rounds, warm_up_rounds)
    measured = {
        "share": _share(TARGETS, BATCHES, MODES, extent),
        "end_to_end": _end_to_end(BATCHES, extent),
        "memory": _memory(10 * records, ("embedded",)),
    }
    finish(measured, json_file)


def _share(
    targets: Sequence[str], sizes: Sequence[str], modes: Sequence[str], extent: measures.Extent
) -> list[dict[str, Any]]:
    comparisons: list[measures.Comparison] = []
    for target in targets:
        with running(target) as bootstrap_servers:
            for size in sizes:
                cases = [measures.Comparison(target, size, mode) for mode in modes]
                measures.compare(bootstrap_servers, cases, size, extent, say)
                comparisons += cases
    opponent = f"ours in {extent.checkout}" if extent.checkout else "confluent-kafka's"
    console().print(report.comparison_table(comparisons, opponent))
    return [report.comparison_as_json(case) for case in comparisons]


def _end_to_end(sizes: Sequence[str], extent: measures.Extent) -> Mapping[str, Sequence[float]]:
    rates = {}
    for size in sizes:
        with running("embedded") as bootstrap_servers:
            rates[size] = measures.end_to_end(bootstrap_servers, size, extent, say)
    console().print(report.end_to_end_table(rates))
    return rates


def _memory(records: int, targets: Sequence[str]) -> Mapping[str, Any]:
    measured = {}
    for target in targets:
        with running(target) as bootstrap_servers:
            measured[target] = measures.memory(bootstrap_servers, "large", records)
    console().print(report.memory_table(measured))
    return {target: {**attrs.asdict(m), "ratio": m.ratio} for target, m in measured.items()}
