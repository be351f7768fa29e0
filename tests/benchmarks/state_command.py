"""The command `state`: what a key of a store takes in memory, and how long a million keys take to be applied."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from attrs import asdict, frozen

from kafka_groups.cli.output import table
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.state_program import KINDS

__all__ = ["StateCosts", "state"]

_PROGRAM: Final = (sys.executable, "-m", "tests.benchmarks.state_program")


@frozen
class StateCosts:
    """What a store costs.

    Attributes:
        kind: Which store.
        bytes_per_key: Resident memory for a key.
        seconds_per_million: Processor time in which the records of a million keys are applied.
    """

    kind: str
    bytes_per_key: float
    seconds_per_million: float


@click.command()
@click.option("--keys", type=click.IntRange(1_000), default=1_000_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Medians are of these.")
@click.option("--store", "kinds", type=click.Choice(KINDS), multiple=True, default=KINDS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def state(*, keys: int, rounds: int, kinds: Sequence[str], json_file: Path | None) -> None:
    """Memory of stores, and their restoration without brokers: keys of 11 characters, each with an int64."""
    found = [_measured(kind, keys, rounds) for kind in kinds]
    rows = [(each.kind, f"{each.bytes_per_key:.0f}", f"{each.seconds_per_million:.2f}") for each in found]
    console().print(table("Stores", ("store", "bytes a key", "seconds a million keys"), rows))
    finish({"state": [asdict(each) for each in found]}, json_file)


def _measured(kind: str, keys: int, rounds: int) -> StateCosts:
    runs = [_run(kind, keys) for _ in range(rounds)]
    sizes, seconds = zip(*runs, strict=True)
    costs = StateCosts(kind, statistics.median(sizes) / keys, statistics.median(seconds) / keys * 1e6)
    say(f"{costs}")
    return costs


def _run(kind: str, keys: int) -> tuple[float, float]:
    """Resident bytes and processor seconds of a process of its own."""
    done = subprocess.run([*_PROGRAM, kind, str(keys)], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return figures["bytes"], figures["processor_seconds"]
