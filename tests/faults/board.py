"""Where the processes of a run meet: a directory with the faults that wait, the requests, and what has struck.

Faults must strike once, whichever of several processes gets there first and however often it is killed and started
again. A file that is renamed can be had by one process only, and bytes that are appended are never lost.
"""

import json
import os
import random
import threading
from collections import Counter
from pathlib import Path

import attrs
from attrs import frozen

from kafka_groups.net.clock import SystemClock
from kafka_groups.types import random_uuid
from tests.faults.plan import Fault, Kind, Plan, Point

_PATIENCE_S = 20.0
_TURN_S = 0.02


@frozen
class Request:
    """A fault that a process of the pipeline asks the harness for."""

    name: str
    kind: Kind
    pid: int
    delay_ms: int


@frozen
class Board:
    """The directory of one run.

    Attributes:
        directory: It exists.
    """

    directory: Path

    # ---------------------------------------------------------------------------------- the harness

    @classmethod
    def set_up(cls, directory: Path, plan: Plan) -> "Board":
        """Make the directory, with the plan's faults in it."""
        for name in ("armed", "claimed", "requests", "done"):
            (directory / name).mkdir(parents=True)
        armed = [fault for planned in plan.faults for fault in (planned,) * planned.times]
        for number, fault in enumerate(armed):
            (directory / "armed" / f"{number:03}.json").write_text(json.dumps(attrs.asdict(fault)))
        return cls(directory)

    def requests(self) -> list[Request]:
        """What is asked for and not done."""
        texts = [path.read_text() for path in sorted((self.directory / "requests").glob("*.json"))]
        return [Request(**{**values, "kind": Kind(values["kind"])}) for values in map(json.loads, texts)]

    def dismiss(self, request: Request) -> None:
        """A request was done, or cannot be: who waits for it goes on."""
        (self.directory / "requests" / f"{request.name}.json").rename(self.directory / "done" / request.name)

    def finish(self) -> None:
        """Tell the pipeline to end."""
        (self.directory / "finish").touch()

    def struck(self) -> Counter[Kind]:
        """How often each class of fault has struck."""
        notes = self.directory / "notes"
        return Counter(map(Kind, notes.read_text().splitlines())) if notes.exists() else Counter()

    # --------------------------------------------------------------------------------- the pipeline

    @property
    def is_finished(self) -> bool:
        """Whether the pipeline is to end."""
        return (self.directory / "finish").exists()

    @property
    def calls(self) -> int:
        """How many batches have begun to be handled in tasks."""
        counted = self.directory / "calls"
        return counted.stat().st_size if counted.exists() else 0

    def count_call(self) -> None:
        """A batch begins to be handled in a task."""
        _append(self.directory / "calls", ".")

    def note(self, kind: Kind) -> None:
        """A fault has struck."""
        _append(self.directory / "notes", f"{kind}\n")

    def begin_outage(self, lasts_ms: int) -> None:
        """The sink is away from now on, for all processes."""
        until = self.directory / "away.part"
        until.write_text(str(SystemClock().now_ms() + lasts_ms))
        until.rename(self.directory / "away")

    @property
    def is_sink_away(self) -> bool:
        """Whether an outage goes on."""
        until = self.directory / "away"
        return until.exists() and SystemClock().now_ms() < int(until.read_text())

    def ask_to_stop(self) -> None:
        """Have the driver stop its query."""
        (self.directory / "stop").touch()

    def takes_stop(self) -> bool:
        """Whether the query is to be stopped; told once."""
        try:
            (self.directory / "stop").unlink()
        except FileNotFoundError:
            return False
        return True

    def claim(self, point: Point, *kinds: Kind) -> Fault | None:
        """A fault that is due at this point, for the caller alone; of these kinds, or of any."""
        for path in sorted((self.directory / "armed").glob("*.json")):
            fault = _read(path)
            if fault is None or fault.point is not point or self.calls < fault.after_calls:
                continue
            if (not kinds or fault.kind in kinds) and self._take(path):
                return fault
        return None

    def request(self, fault: Fault) -> None:
        """Have the harness do what this process cannot do to itself; wait for it if the plan says so.

        Raises:
            TimeoutError: The harness does not do it.
        """
        name = random_uuid(random.Random()).hex
        request = Request(name, fault.kind, os.getpid(), fault.delay_ms)
        written = self.directory / f"{name}.json"
        written.write_text(json.dumps(attrs.asdict(request)))
        written.rename(self.directory / "requests" / written.name)
        if fault.waits:
            wait_until_exists(self.directory / "done" / name)

    def _take(self, path: Path) -> bool:
        try:
            path.rename(self.directory / "claimed" / path.name)
        except FileNotFoundError:
            return False
        return True


def pause(duration_s: float) -> None:
    """Stand still: the time that a slow batch takes, or between two looks at a file."""
    threading.Event().wait(duration_s)


def wait_until_exists(path: Path) -> None:
    """Wait for a file that another process makes.

    Raises:
        TimeoutError: It does not come.
    """
    for _ in range(round(_PATIENCE_S / _TURN_S)):
        if path.exists():
            return
        pause(_TURN_S)
    raise TimeoutError(f"{path} did not come in {_PATIENCE_S} s")


def _read(path: Path) -> Fault | None:
    try:
        values = json.loads(path.read_text())
    except FileNotFoundError:  # another process was faster
        return None
    return Fault(**{**values, "kind": Kind(values["kind"]), "point": Point(values["point"])})


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
