"""Parts that are commands of the benchmarks: each checkout runs its own, and writes its figures to a file."""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.children import child
from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import Checkouts
from tests.benchmarks.guard.figures import Case, Row
from tests.benchmarks.guard.turns import Measure

__all__ = ["ARROW", "ASSIGNOR", "HEARTBEATS", "LOADING", "MEMORY", "arguments_of", "own_commands"]

_ARROW = ("arrow", "records_per_second")
_HEARTBEATS = ("streams", "heartbeats")
_PER_CPU = "heartbeats per s of CPU"

ARROW = (
    Case((Row("Into Arrow, all columns, checksums", "records/s of CPU", (*_ARROW, "all columns, checksums")),
          Row("Into Arrow, value, checksums", "records/s of CPU", (*_ARROW, "value, checksums"))), 6,
         ("arrow", "--records={100000:2000}", "--rounds=5"), ("tests.benchmarks.arrow_command:arrow",)),
)  # fmt: skip
HEARTBEATS = (
    Case((Row("Streams heartbeats, nothing changes", _PER_CPU, (*_HEARTBEATS, "without changes", _PER_CPU)),
          Row("Streams heartbeats, with records", _PER_CPU, (*_HEARTBEATS, "each writes records", _PER_CPU))), 6,
         ("streams", "--part=heartbeats", "--runs={10:1}"), ("tests.benchmarks.streams_heartbeats:heartbeats",)),
)  # fmt: skip
ASSIGNOR = (
    Case((Row("Task assignor, 2,500 members, four steps", "s of CPU", ("assignors", "0", "seconds"), is_cost=True),), 3,
         ("assignors", "--members={2500:80}", "--doublings=0", "--rounds=3"),
         ("tests.benchmarks.assignors_command:assignors",)),
)  # fmt: skip
LOADING = (
    Case((Row("Loading of a coordinator, 20,000 records", "s", ("loading", "load_s"), is_cost=True),), 5,
         ("coordinators", "--part=loading", "--fraction={0.2:0.001}"), ("tests.benchmarks.coordination:loading",)),
)  # fmt: skip
MEMORY = (
    Case((Row("Memory of the client, 500,000 records", "bytes", ("memory", "embedded", "bytes_at_end"), is_cost=True),),
         3, ("memory", "--target=embedded", "--records={500000:20000}"), ("tests.benchmarks.measures:memory",)),
)  # fmt: skip


def arguments_of(case: Case, extent: Extent) -> list[str]:
    """The arguments of a command. What stands as `{count:least}` is scaled, but not below the least."""
    return [_scaled(argument, extent) for argument in case.arguments]


def _scaled(argument: str, extent: Extent) -> str:
    before, brace, after = argument.partition("{")
    if not brace:
        return argument
    count, least = after.removesuffix("}").split(":")
    if "." in count:
        return f"{before}{max(float(least), float(count) * extent.fraction):g}"
    return f"{before}{extent.of(int(count), int(least))}"


@contextmanager
def own_commands(checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """Runs `python -m tests.benchmarks` with the arguments of a case in a checkout."""
    with tempfile.TemporaryDirectory() as directory:
        written = Path(directory) / "figures.json"

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            written.unlink(missing_ok=True)
            _run([*arguments_of(case, extent), f"--json={written}"], checkouts.of(version, case.needs))
            figures: Mapping[str, Any] = json.loads(written.read_text())
            return figures

        yield measure


def _run(arguments: Sequence[str], checkout: Path) -> None:
    with child([sys.executable, "-m", "tests.benchmarks", *arguments], checkout, passes_errors_on=False) as running:
        said = running.output.read()
        if running.process.wait() != 0:
            raise running.failed(f"`{' '.join(arguments)}` in {checkout} failed\n{said[-1_000:]}")
