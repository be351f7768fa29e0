"""Processes that write the state of a task, and are killed or stopped at a step of it.

A process takes half a second to start, so one process starts first, and each writer is a fork of it. It is told what to
do in lines of JSON, and says in such lines how far the writer is, and how it has ended.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import lmdb

from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.engines import opening
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.lmdb_rows import LmdbRows
from kafka_groups.streams.engines.opening import COMPACTED_BYTES, DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.state.engine import Changes
from tests.support.conditions import wait_until
from tests.support.kept_states import BOOT, CHANGELOG, DEFINED, TASK

__all__ = ["COMMITS", "Writers", "changes_of", "state_after"]

ROOT: Final = Path(__file__).parents[2]
COMMITS: Final = 6
_LONG: Final = b"long " * 120


def changes_of(seed: int, number: int) -> Changes:
    """The changes of a commit, in two stores alike. Each second one makes a segment, and drops an old one."""
    random = Random(f"{seed} {number}")
    count = 1_000 if seed % 5 == 0 else 8  # a restoration, or a commit
    rows: dict[bytes, bytes | None] = {}
    for _ in range(count):
        key = b"%d" % random.randrange(3 * count)
        value = b"%d of %d" % (number, seed)
        rows[random.choice([key, key, key, _LONG + key, b""])] = random.choice([None, value, value * 20])
    segment = number // 2
    return {"a": rows, "b": rows, f"a@{segment}": rows, f"b@{segment}": rows, f"a@{segment - 2}": None}


def state_after(seed: int, number: int) -> dict[str, dict[bytes, bytes]]:
    """The rows of all tables after a number of commits."""
    state: dict[str, dict[bytes, bytes]] = {}
    for at in range(1, number + 1):
        for name, rows in changes_of(seed, at).items():
            table = {} if rows is None else {**state.get(name, {}), **rows}
            state[name] = {key: value for key, value in table.items() if value is not None}
    return {name: rows for name, rows in state.items() if rows}


class Writers:
    """Starts writers, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        self._pid: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self._process.communicate()

    def start(self, folder: Path, **order: object) -> None:
        """Start a writer in the folder of an application. The orders are those of `_written`."""
        self.end()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"folder": str(folder), **order}).encode() + b"\n")
        self._process.stdin.flush()
        self._pid = self.said("pid")["pid"]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the writer."""
        assert self._pid is not None
        os.kill(self._pid, number)

    def said(self, *kinds: str) -> dict[str, Any]:
        """Wait for what the writer says next, of some kinds."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told: dict[str, Any] = json.loads(line)
            if "ended" in told:
                self._pid = None
            if not kinds or told.keys() & set(kinds):
                return told
            assert "ended" not in told, f"the writer has ended: {told}"
        raise AssertionError("the process that starts writers has ended")

    def end(self) -> None:
        """Kill the writer if there is one, also one that is stopped."""
        if self._pid is not None:
            with suppress(ProcessLookupError):  # it has ended, and has not been asked for it
                self.signal(signal.SIGKILL)
            self.said("ended")


# ------------------------------------------------------------------------------------------------------- its processes


def _say(**told: object) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


class _Steps:
    """Counts the steps of a process, and ends or stops it at one of them."""

    def __init__(self, act: str | None, on: str | None, at: int) -> None:
        self.count = 0
        self._act = act
        self._on = on
        self._at = at

    def __call__(self, name: str) -> None:
        if self._on is not None and name != self._on:
            return
        self.count += 1
        if self.count == self._at and self._act is not None:
            os.kill(os.getpid(), getattr(signal, self._act))

    def around(self, owner: Any, name: str) -> None:
        """Make the beginning and the end of a function steps."""
        called: Callable[..., Any] = getattr(owner, name)

        def stepped(*args: Any, **settings: Any) -> Any:
            self(f"before {name}")
            result = called(*args, **settings)
            self(f"after {name}")
            return result

        setattr(owner, name, stepped)


class _Stepped:
    """An environment, or a transaction of it, whose calls are steps."""

    def __init__(self, real: Any, step: _Steps) -> None:
        self._real = real
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def begin(self, *, write: bool = False) -> Any:
        if not write:
            return self._real.begin()
        self._step("before begin")
        return _Stepped(self._real.begin(write=True), self._step)

    def sync(self, is_forced: bool) -> None:
        self._step("before sync")
        self._real.sync(is_forced)

    def close(self) -> None:
        self._step("before close")
        self._real.close()

    def __enter__(self) -> Any:
        self._step("after begin")
        return self._real.__enter__()

    def __exit__(self, *args: object) -> None:
        self._step("before commit")
        self._real.__exit__(*args)
        self._step("after commit")


def _with_steps(step: _Steps) -> None:
    opened = lmdb.open
    setattr(lmdb, "open", lambda *args, **settings: _Stepped(opened(*args, **settings), step))  # noqa: B010
    for owner, name in (
        (os, "fsync"),
        (Path, "replace"),
        (Path, "rename"),
        (Path, "mkdir"),
        (LmdbEngine, "copy"),
        (LmdbEngine, "free_bytes_in"),
        (LmdbRows, "apply"),
        (LmdbEngine, "_put"),
        (LmdbEngine, "_without_rows"),
        (LmdbEngine, "_delete_dropped"),
    ):
        step.around(owner, name)


def _written(
    folder: str,
    *,
    seed: int = 0,
    act: str | None = None,
    on: str | None = None,
    at: int = 0,
    boot: str = BOOT,
    commits: int = COMMITS,
    is_trusting: bool = False,
    compacted_bytes: int = COMPACTED_BYTES,
) -> None:
    """Open a task, say what it has, commit and close.

    Args:
        folder: The folder of the application.
        seed: What the commits have.
        act: The name of the signal that this process gets.
        on: The name of the steps that count for that. None: all.
        at: The step at which it gets it.
        boot: The boot of the machine.
        commits: The last commit.
        is_trusting: Whether it opens what it should not.
        compacted_bytes: The free space with which it makes a compact copy.
    """
    step = _Steps(act, on, at)
    _with_steps(step)
    if is_trusting:
        setattr(opening, "reason_to_wipe", lambda *_args: None)  # noqa: B010
    engines = DiskEngines(Path(folder), boot, SystemClock(), compacted_bytes=compacted_bytes)
    opened: list[TaskEngine | None] = []

    def has_opened() -> bool:
        opened.append(engines.open(TASK, DEFINED))
        return opened[-1] is not None

    wait_until(has_opened)
    engine = opened[-1]
    assert isinstance(engine, DiskEngine)
    begun = engine.positions.get(CHANGELOG, 0)
    found = {name: len(list(engine.table(name).scan(b"", None))) for name in engine.tables("")}
    _say(opened=begun, rows=found)
    for number in range(begun + 1, commits + 1):
        write = engine.load if seed % 5 == 0 else engine.commit
        write(changes_of(seed, number), {CHANGELOG: number}, {"a#time": b"%d" % number})
        _say(committed=number)
    engine.close()
    _say(steps=step.count)


def _forked(order: Mapping[str, Any]) -> None:
    pid = os.fork()
    if not pid:
        try:
            _say(pid=os.getpid())  # before anything else, so not by its parent
            _written(**order)
        except BaseException:  # whatever it is, this process must not go on as its parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        _say(stopped=True)
    _say(ended=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    for ordered in sys.stdin:
        _forked(json.loads(ordered))
