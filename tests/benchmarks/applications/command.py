"""The command `applications`: ours against those of Quix Streams and Faust, and what an application costs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

import click
from attrs import evolve

from kafka_groups.cli.output import table
from kafka_groups.testing import FAST_SETTINGS
from tests.benchmarks.aims import Aim
from tests.benchmarks.applications.beside_before import beside_before, figures
from tests.benchmarks.applications.beside_java import BEFORE, beside_java, earlier_checkout
from tests.benchmarks.applications.costs import delays, growth, idle_share, start_seconds
from tests.benchmarks.applications.environments import OTHERS, interpreter
from tests.benchmarks.applications.kinds_of_groups import beside_streams_groups
from tests.benchmarks.applications.rates import EXACTLY_ONCE, Contest, Entry, Extent, Rate, contest
from tests.benchmarks.applications.running import JAVA, OURS
from tests.benchmarks.applications.works import MAP, WINDOWS
from tests.benchmarks.brokers import TARGETS, embedded, running
from tests.benchmarks.output import console, finish, say

_T = TypeVar("_T")
_CLIENTS: Final = (OURS, JAVA, *OTHERS)
_PARTS: Final = ("rates", "exactly-once", "delay", "idle", "start", "memory")
_JAVA_PART: Final = "java"
_BEFORE_PART: Final = "before"
_CLASSIC_PART: Final = "classic"
_OTHER_PARTS: Final = (_JAVA_PART, _BEFORE_PART, _CLASSIC_PART)
_PER_SECOND, _WORKERS = 100, 4


@click.command()
@click.option("--part", "parts", type=click.Choice((*_PARTS, *_OTHER_PARTS)), multiple=True, default=_PARTS,
              show_default=True, help="May be given more than once.")  # fmt: skip
@click.option("--against", "commit", help="A commit that takes part in the parts `java` and `before`.")
@click.option("--client", "clients", type=click.Choice(_CLIENTS), multiple=True, default=_CLIENTS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--target", type=click.Choice(TARGETS), default="kafka", show_default=True,
              help="The broker. That of the part `start` is always embedded.")  # fmt: skip
@click.option("--records", type=click.IntRange(1_000), default=1_500_000, show_default=True, help="For the rates.")
@click.option("--seconds", type=click.FloatRange(0.1), default=6.0, show_default=True, help="Of a run.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Medians are of these.")
@click.option("--commit-ms", type=click.IntRange(10), default=1_000, show_default=True, help="For all clients.")
@click.option("--memory-records", type=click.IntRange(1_000), default=10_000_000, show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def applications(
    *,
    parts: Sequence[str],
    commit: str | None,
    clients: Sequence[str],
    target: str,
    records: int,
    seconds: float,
    rounds: int,
    commit_ms: int,
    memory_records: int,
    json_file: Path | None,
) -> None:
    """Streams applications: rates against Quix Streams and Faust, delay, idle time, start, memory. Some 20 minutes.

    The part `java` compares maps and windowed counts with Kafka Streams and with an earlier commit: with 1,000 keys and
    with keys that never repeat, at least once and exactly once. It takes some 10 minutes more.

    The part `before` compares TLS, compression, stores on disk, delay, idle time and memory with an earlier commit. It
    takes some 10 minutes more, too.

    The part `classic` compares classic groups with streams groups: rates, for which each run needs records for 20 s
    (`--seconds 20 --records 8000000`), and how long it takes until a second instance runs.
    """
    if _BEFORE_PART in parts and commit is None:
        raise click.UsageError(f"--part {_BEFORE_PART} compares with an earlier commit: name one with --against.")
    for client in set(clients) & OTHERS.keys():
        interpreter(client)
    extent = Extent(clients=clients, records=records, seconds=seconds, rounds=rounds, commit_ms=commit_ms)
    measured: dict[str, Any] = {}
    aims: list[Aim] = []
    with running(target) as servers:
        for part in (each for each in _PARTS if each in parts):
            measured[part], found = _measured(part, servers, extent, memory_records)
            aims += found
        if _JAVA_PART in parts:
            measured[_JAVA_PART], found = _beside_java(servers, extent, commit)
            aims += found
        if _BEFORE_PART in parts:
            measured[_BEFORE_PART], found = _beside_before(servers, extent, commit)
            aims += found
        if _CLASSIC_PART in parts:
            measured[_CLASSIC_PART], found = _classic(target, servers, extent)
            aims += found
    console().print(table("Aims", ("measure", "figure", "aim", "met"), [aim.row() for aim in aims]))
    finish({"applications": measured}, json_file)


def _measured(part: str, servers: str, extent: Extent, memory_records: int) -> tuple[Any, list[Aim]]:
    match part:
        case "rates":
            return _rates(servers, extent)
        case "exactly-once":
            return _exactly_once(servers, extent)
        case "delay":
            return _delays(servers, extent)
        case "idle":
            return _idle(servers, extent)
        case "start":
            return _start(extent)
        case _:
            return _memory(servers, memory_records)


def _rates(servers: str, extent: Extent) -> tuple[Any, list[Aim]]:
    found = contest(servers, extent, say)
    rows = [(str(entry), f"{found.per_second(entry) / 1e3:.1f}", f"{found.per_cpu_second(entry) / 1e3:.1f}")
            for entry in found.rates]  # fmt: skip
    console().print(table("Rates", ("work, client", "k records/s", "k records per CPU second"), rows))
    figures = {str(entry): {"per_second": [rate.per_second for rate in rates],
                            "per_cpu_second": [rate.per_cpu_second for rate in rates]}
               for entry, rates in found.rates.items()}  # fmt: skip
    return figures, _aims_of(found, extent)


def _beside_java(servers: str, extent: Extent, commit: str | None) -> tuple[Any, list[Aim]]:
    with earlier_checkout(commit) as earlier:
        measured = beside_java(servers, extent, say, earlier)
    columns = ("work", f"{OURS}, k records/s, per CPU second", BEFORE, JAVA, f"CPU, of {BEFORE}", f"CPU, of {JAVA}")
    console().print(table("Beside Java", columns, [each.row() for each in measured]))
    return {str(each.ours): each.figures() for each in measured}, [aim for each in measured for aim in each.aims()]


def _beside_before(servers: str, extent: Extent, commit: str | None) -> tuple[Any, list[Aim]]:
    with earlier_checkout(commit) as earlier:
        assert earlier is not None
        measured = beside_before(servers, extent, say, earlier)
    console().print(table("Beside an earlier commit", ("what", "unit", BEFORE, "now", "now / before"),
                          [each.row() for each in measured]))  # fmt: skip
    return figures(measured), [each.aim() for each in measured]


def _classic(target: str, servers: str, extent: Extent) -> tuple[Any, list[Aim]]:
    measured = beside_streams_groups(target, servers, extent, say)
    columns = ("what", "unit", "streams group", "classic group", "classic / streams")
    console().print(table("Classic groups", columns, [each.row() for each in measured]))
    return figures(measured), [each.aim() for each in measured]


def _aims_of(found: Contest, extent: Extent) -> list[Aim]:
    alone, two, mapping = Entry(OURS, WINDOWS), Entry(OURS, WINDOWS, workers=2), Entry(OURS, MAP)
    aims = []
    if "quix" in extent.clients:
        for ours, limit in ((mapping, 1.5), (alone, 3)):
            quix = Entry("quix", ours.work)
            aims += [
                Aim(f"{ours.work}, of Quix", found.ratio(ours, quix, _per_second), limit, is_least=True),
                Aim(f"{ours.work}, of Quix, CPU", found.ratio(ours, quix, _per_cpu_second), limit, is_least=True),
            ]
    return [
        *aims,
        Aim(f"{WINDOWS}, k records/s", found.per_second(alone) / 1e3, 50, is_least=True),
        Aim(f"{WINDOWS}, k records per CPU second", found.per_cpu_second(alone) / 1e3, 50, is_least=True),
        Aim("two workers, records per CPU second, of one's", found.ratio(two, alone, _per_cpu_second), 0.9,
             is_least=True),
    ]  # fmt: skip


def _exactly_once(servers: str, extent: Extent) -> tuple[Any, list[Aim]]:
    """Ours exactly once against ours at least once, and against Quix Streams, at two intervals of commits."""
    plain, ours, quix = EXACTLY_ONCE
    figures: dict[str, Any] = {}
    aims = []
    for commit_ms, least in ((100, 0.7), (1_000, 0.9)):
        found = contest(servers, evolve(extent, commit_ms=commit_ms), say, EXACTLY_ONCE)
        figures[f"{commit_ms} ms"] = {str(entry): found.per_second(entry) for entry in found.rates}
        what = f"exactly once, a commit each {commit_ms} ms"
        aims.append(Aim(f"{what}, of at least once", found.ratio(ours, plain, _per_second), least, is_least=True))
        if quix in found.rates:
            aims.append(Aim(f"{what}, of Quix", found.ratio(ours, quix, _per_second), 3, is_least=True))
    return figures, aims


def _per_second(rate: Rate) -> float:
    return rate.per_second


def _per_cpu_second(rate: Rate) -> float:
    return rate.per_cpu_second


def _delays(servers: str, extent: Extent) -> tuple[Any, list[Aim]]:
    found = {client: delays(client, servers, _PER_SECOND, extent.seconds) for client in extent.clients}
    rows = [(client, f"{each.median_ms:.1f}", f"{each.p99_ms:.1f}") for client, each in found.items()]
    console().print(table(f"Record to output at {_PER_SECOND} records/s, ms", ("client", "median", "p99"), rows))
    figures = {client: {"median_ms": each.median_ms, "p99_ms": each.p99_ms} for client, each in found.items()}
    return figures, _if_ours(found, lambda each: Aim("record to output, median in ms", each.median_ms, 25))


def _idle(servers: str, extent: Extent) -> tuple[Any, list[Aim]]:
    found = {client: idle_share(client, servers, extent.seconds) * 100 for client in extent.clients}
    rows = [(client, f"{percent:.2f}") for client, percent in found.items()]
    console().print(table("An idle worker", ("client", "% of a core"), rows))
    return found, _if_ours(found, lambda percent: Aim("idle worker, % of a core", percent, 2))


def _if_ours(found: Mapping[str, _T], aim: Callable[[_T], Aim]) -> list[Aim]:
    return [aim(found[OURS])] if OURS in found else []


def _start(extent: Extent) -> tuple[Any, list[Aim]]:
    settings = {name: str(value) for name, value in FAST_SETTINGS.items()}
    with embedded(settings=settings) as broker:
        seconds = [start_seconds(broker.bootstrap_servers, _WORKERS) for _ in range(extent.rounds)]
    return seconds, [Aim(f"{_WORKERS} workers RUNNING, seconds", median(seconds), 3)]


def _memory(servers: str, records: int) -> tuple[Any, list[Aim]]:
    found = growth(OURS, servers, records)
    say(f"resident: {found.at_tenth / 2**20:.1f} MiB after a tenth, {found.at_end / 2**20:.1f} MiB after all")
    figures = {"records": records, "at_tenth": found.at_tenth, "at_end": found.at_end}
    return figures, [Aim("memory grows from a tenth to all records by %", (found.ratio - 1) * 100, 10)]
