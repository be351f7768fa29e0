"""The command `kept-state`."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from attrs import asdict, frozen

from kafka_groups.cli.output import table
from tests.benchmarks.aims import Aim
from tests.benchmarks.brokers import TARGETS, running
from tests.benchmarks.kept_state.applications import (
    Work,
    beside_a_restoration,
    questions,
    restorations,
    windowed_counts,
)
from tests.benchmarks.output import console, finish, say

__all__ = ["kept_state"]

_PARTS: Final = ("growth", "views", "opening", "files", "memory", "rates", "restoration", "questions", "beside")
_OPENED, _UPDATED_KEYS, _VALUE_BYTES = 100, 50_000, 100
_LEAST_RECORDS: Final = 500_000
"""An application needs some seconds for them, and commits in between."""


@frozen(kw_only=True)
class _Extent:
    """How much is done: a fraction of the usual numbers, and how often."""

    fraction: float
    rounds: int

    def of(self, number: int) -> int:
        """Return so much of a number."""
        return max(1, round(number * self.fraction))

    def medians(self, *command: str) -> Mapping[str, float]:
        """Run a program that prints figures, as often as there are rounds."""
        runs = [_printed(command) for _ in range(self.rounds)]
        return {name: median(run[name] for run in runs) for name in runs[0]}


def _printed(command: Sequence[str]) -> Mapping[str, float]:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=True)
    say(f"{' '.join(command)}: {done.stdout.strip()}")
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


@click.command("kept-state")
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, default=_PARTS, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--fraction", type=click.FloatRange(0.0001), default=1.0, show_default=True, help="Of records and keys.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Figures are medians of these.")
@click.option("--target", type=click.Choice(TARGETS), default="kafka", show_default=True,
              help="The broker of the rates and of the restoration.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def kept_state(*, parts: Sequence[str], fraction: float, rounds: int, target: str, json_file: Path | None) -> None:
    """State on disk: what it costs beside state in memory, its files and memory, restorations. Some 30 minutes."""
    extent = _Extent(fraction=fraction, rounds=rounds)
    aims = [aim for part in _PARTS if part in parts for aim in _measured(part, extent, target)]
    console().print(table("State on disk", ("measure", "figure", "aim", "met"), [aim.row() for aim in aims]))
    finish({"kept_state": [asdict(aim) for aim in aims]}, json_file)


def _measured(part: str, extent: _Extent, target: str) -> list[Aim]:
    match part:
        case "rates":
            return _with_broker(windowed_counts, extent, target, keys=50_000)
        case "restoration":
            return _with_broker(restorations, extent, target, keys=1_000_000)
        case "questions":
            return _with_broker(questions, extent, target, keys=50_000)
        case "beside":
            return _with_broker(beside_a_restoration, extent, target, keys=1_000_000)
        case _:
            alone: dict[str, Callable[[_Extent], list[Aim]]] = {
                "growth": _growth, "views": _views, "opening": _opening, "files": _files, "memory": _memory,
            }  # fmt: skip
            return alone[part](extent)


def _with_broker(measure: Callable[[Work], list[Aim]], extent: _Extent, target: str, keys: int) -> list[Aim]:
    with running(target) as servers:
        seconds = max(0.5, 6.0 * extent.fraction)
        records = max(_LEAST_RECORDS, extent.of(1_500_000))
        work = Work(servers=servers, records=records, keys=extent.of(keys), seconds=seconds, rounds=extent.rounds)
        return measure(work)


def _growth(extent: _Extent) -> list[Aim]:
    """Rows in random order: in memory, an index that follows each of them would make many cost more each than few."""
    found = [
        extent.medians("tests.benchmarks.state_program", "window", str(keys), "memory", "random")["processor_seconds"]
        / keys
        for keys in (extent.of(100_000), extent.of(400_000))
    ]
    return [Aim("a window row restored among 400,000, of one among 100,000", found[1] / found[0], 1.3)]


def _views(extent: _Extent) -> list[Aim]:
    few, many = (_program(extent, "view", rows, 2_000)["get_us"] for rows in (1_000, 100_000))
    return [
        Aim("a get from 100,000 window rows, of one from 1,000", many / few, 2),
        Aim("the get from 1,000 rows, µs", few),
    ]


def _opening(extent: _Extent) -> list[Aim]:
    found = _program(extent, "opening", _OPENED)
    return [
        Aim(f"the files of one of {_OPENED} tasks made, ms", found["made_ms"]),
        Aim("the same opened again, ms", found["opened_ms"]),
    ]


def _files(extent: _Extent) -> list[Aim]:
    found = _program(extent, "updates", 20_000_000, _UPDATED_KEYS)
    return [Aim("files after 20 M windowed updates, of live rows", found["file_bytes"] / found["live_bytes"], 3)]


def _memory(extent: _Extent) -> list[Aim]:
    found = _program(extent, "memory", 5_000_000, _VALUE_BYTES)
    return [
        Aim(f"memory of 5 M keys with {_VALUE_BYTES} bytes each, MB", found["bytes"] / 1e6, 200),
        Aim("their files, of keys and values", found["file_bytes"] / (extent.of(5_000_000) * (11 + _VALUE_BYTES))),
    ]


def _program(extent: _Extent, name: str, *numbers: int) -> Mapping[str, Any]:
    """Run a program with a part of its first number."""
    first, *others = numbers
    arguments = (str(extent.of(first)), *map(str, others))
    return extent.medians("tests.benchmarks.kept_state.programs", name, *arguments)
