"""The command `guard`: all headlines, now against then, and an exit status."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from tests.benchmarks.brokers import SECURED
from tests.benchmarks.guard import application_parts as applications
from tests.benchmarks.guard import broker_parts as brokers
from tests.benchmarks.guard import command_parts as commands
from tests.benchmarks.guard import spark_parts as spark
from tests.benchmarks.guard import worker_parts as workers
from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import ROOT, Checkouts, both, commit_of, guarded_commits
from tests.benchmarks.guard.figures import Compared, as_json, exit_status, guard_table
from tests.benchmarks.guard.turns import Pace, Part, compare_part
from tests.benchmarks.output import console, finish, say

__all__ = ["guard", "needs_of", "parts_of"]

LEAST = 0.93
_MORE_S = 4 * 60.0
"""How long rows that are too low may be repeated, so that the whole does not take more than 40 minutes."""

_MORE_NEEDS = ("tests.benchmarks.spark_runs:BATCH_JOBS",)
_PAGE = ROOT / "docs" / "benchmarks.md"


def parts_of(checkouts: Checkouts, extent: Extent) -> list[Part]:
    """All parts, in the order in which they are measured."""
    command = partial(commands.own_commands, checkouts, extent)
    on_kafka = partial(brokers.consumers_on_kafka, checkouts=checkouts, extent=extent)
    own = partial(brokers.own_brokers, checkouts=checkouts, extent=extent)
    return [
        Part("share", brokers.SHARE, partial(on_kafka, "kafka", brokers.SHARE), needs_java=True),
        Part("sasl-ssl", brokers.SECURED_SHARE, partial(on_kafka, SECURED, brokers.SECURED_SHARE), needs_java=True),
        Part("embedded", brokers.EMBEDDED, partial(own, 1)),
        Part("three-brokers", brokers.THREE_BROKERS, partial(own, 3)),
        Part("arrow", commands.ARROW, command),
        Part("spark", spark.SPARK, partial(spark.spark_queries, checkouts, extent, say), needs_java=True),
        Part("drain", spark.DRAIN, partial(spark.drains, checkouts, say), needs_java=True),
        Part("heartbeats", commands.HEARTBEATS, command),
        Part("assignor", commands.ASSIGNOR, command),
        Part("loading", commands.LOADING, command),
        Part("memory", commands.MEMORY, command),
        Part("applications", applications.APPLICATIONS, partial(applications.applications, checkouts, extent)),
        Part("restoration", applications.RESTORATION, partial(applications.restorations, checkouts, extent)),
        Part("workers", workers.WORKERS, partial(workers.workers, checkouts, extent)),
    ]


PARTS = tuple(part.name for part in parts_of(Checkouts({}, Path()), Extent()))


def needs_of(parts: Sequence[Part]) -> list[str]:
    """What the checkouts are asked for."""
    needs = [need for part in parts for case in part.cases for need in case.needs]
    return list(dict.fromkeys([*needs, *_MORE_NEEDS]))


@click.command()
@click.option("--against", "commit", help="A commit. By default, those that docs/benchmarks.md names.")
@click.option("--repository", type=click.Path(path_type=Path, exists=True, file_okay=False), default=ROOT,
              help="The git repository with that commit, if this is a copy without one.")  # fmt: skip
@click.option("--least", type=click.FloatRange(0.0), default=LEAST, show_default=True,
              help="The exit status is 1 if a ratio is below.")  # fmt: skip
@click.option("--part", "names", type=click.Choice(PARTS), multiple=True, default=PARTS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--without-java", is_flag=True, help="Leave out what needs a real Kafka or Spark.")
@click.option("--rounds", type=click.IntRange(1), help="Of each row, instead of its own number.")
@click.option("--fraction", type=click.FloatRange(1e-4, 1.0), default=1.0, show_default=True,
              help="Of the records that are usually measured; the ratios then mean little.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def guard(
    *,
    commit: str | None,
    repository: Path,
    least: float,
    names: Sequence[str],
    without_java: bool,
    rounds: int | None,
    fraction: float,
    json_file: Path | None,
) -> None:
    """The headlines of docs/benchmarks.md in a short form, in this checkout and in that of a commit, by turns.

    Takes at most 40 minutes on two idle cores. The ratios are now over then, or then over now for what should be low:
    above 1 is better. The exit status is 1 if one is below 0.93, or if a row could not be measured. A row that the
    earlier checkout does not have is shown as missing.
    """
    began = time.monotonic()
    pace, extent = Pace(least, rounds, _MORE_S), Extent(fraction)
    compared: dict[str, list[Compared]] = {}
    try:
        for named, parts in _by_commit(repository, commit, _chosen(names, without_java=without_java)).items():
            compared[named] = []
            for found in _compared_parts(named, repository, parts, extent, pace):
                compared[named] += found
                say(f"after {time.monotonic() - began:.0f} s")
    finally:  # also if it was interrupted
        _report(compared, least, time.monotonic() - began)
        rows = [row for each in compared.values() for row in each]
        finish({"guard": as_json(rows)}, json_file)
    sys.exit(exit_status(rows, least))


def _chosen(names: Sequence[str], *, without_java: bool) -> list[str]:
    """The parts to measure, in their order."""
    parts = parts_of(Checkouts({}, Path()), Extent())
    return [part.name for part in parts if part.name in names and not (without_java and part.needs_java)]


def _by_commit(repository: Path, commit: str | None, names: Sequence[str]) -> dict[str, list[str]]:
    """The parts, by the commit that they are compared with."""
    page = guarded_commits(_PAGE.read_text(encoding="utf-8"), PARTS)
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(commit_of(repository, commit or page[name]), []).append(name)
    return found


def _compared_parts(
    named: str, repository: Path, parts: Sequence[str], extent: Extent, pace: Pace
) -> Iterator[list[Compared]]:
    """The rows of one part after the other, compared with a commit."""
    needs = needs_of(parts_of(Checkouts({}, Path()), Extent()))
    with both(named, repository, needs) as checkouts:
        for version, checkout in checkouts.by_version.items():
            say(f"{version}: {checkout.package}")
        for part in parts_of(checkouts, extent):
            if part.name in parts:
                say(f"{part.name} against {named}")
                yield compare_part(part, pace, say)


def _report(by_commit: Mapping[str, Sequence[Compared]], least: float, seconds: float) -> None:
    for commit, compared in by_commit.items():
        console().print(guard_table(compared, commit, least))
        for error in dict.fromkeys(each.error for each in compared if each.error):
            names = "; ".join(each.row.name for each in compared if each.error == error)
            console().print(f"{names}:\n{error}\n", markup=False)
    console().print(f"{seconds:.0f} s")
