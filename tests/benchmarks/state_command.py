"""The command `state`: what a key of a store takes in memory, and how long a million keys take to be applied."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

import click
from attrs import asdict, frozen

from kafka_groups.cli.output import table
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.state_program import ENGINES, KINDS, ORDERS

__all__ = ["StateCosts", "state"]

_PROGRAM: Final = (sys.executable, "-m", "tests.benchmarks.state_program")


@frozen
class StateCosts:
    """What a store costs.

    Attributes:
        kind: Which store.
        engine: Where it is.
        order: The order in which its keys come.
        bytes_per_key: Resident memory for a key, without pages of files.
        file_bytes_per_key: What its files take for a key.
        seconds_per_million: Processor time in which the records of a million keys are applied.
    """

    kind: str
    engine: str
    order: str
    bytes_per_key: float
    file_bytes_per_key: float
    seconds_per_million: float


@click.command()
@click.option("--keys", type=click.IntRange(1_000), default=1_000_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Medians are of these.")
@click.option("--store", "kinds", type=click.Choice(KINDS), multiple=True, default=KINDS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--engine", "engines", type=click.Choice(ENGINES), multiple=True, default=ENGINES[:1], show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--order", "orders", type=click.Choice(ORDERS), multiple=True, default=ORDERS[:1], show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def state(
    *,
    keys: int,
    rounds: int,
    kinds: Sequence[str],
    engines: Sequence[str],
    orders: Sequence[str],
    json_file: Path | None,
) -> None:
    """Memory and files of stores, and their restoration without brokers: keys of 11 characters, each with an int64."""
    found = [_measured(each, keys, rounds) for each in product(kinds, engines, orders)]
    rows = [
        (
            each.kind, each.engine, each.order, f"{each.bytes_per_key:.0f}", f"{each.file_bytes_per_key:.0f}",
            f"{each.seconds_per_million:.2f}",
        )
        for each in found
    ]  # fmt: skip
    columns = ("store", "engine", "keys", "bytes a key", "bytes of files", "seconds a million keys")
    console().print(table("Stores", columns, rows))
    finish({"state": [asdict(each) for each in found]}, json_file)


def _measured(what: tuple[str, str, str], keys: int, rounds: int) -> StateCosts:
    runs = [_run(what, keys) for _ in range(rounds)]
    sizes, files, seconds = (statistics.median(column) / keys for column in zip(*runs, strict=True))
    costs = StateCosts(*what, sizes, files, seconds * 1e6)
    say(f"{costs}")
    return costs


def _run(what: tuple[str, str, str], keys: int) -> tuple[float, float, float]:
    """Resident bytes, bytes of files and processor seconds of a process of its own."""
    kind, engine, order = what
    done = subprocess.run([*_PROGRAM, kind, str(keys), engine, order], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return figures["bytes"], figures["files"], figures["processor_seconds"]
