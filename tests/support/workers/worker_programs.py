"""Programs with a worker that tests start by the command, or as scripts, in a directory of their own."""

import os
import random
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from attrs import define, field, frozen

from tests.support.conditions import wait_until
from tests.support.workers.worker_scenes import WorkerScene

__all__ = ["HandledCall", "Start", "StartedWorker", "free_port", "is_alive", "read_calls", "start_worker"]

SHOP = '''
"""A worker whose handler does what its records say."""

import os
import signal
import sys
import threading
from pathlib import Path

from kafka_groups import OnError, ShareRecord, Worker

DEAD = os.environ["DEAD"] or None
TIMEOUT = float(os.environ["TIMEOUT"]) if os.environ["TIMEOUT"] else None
FAST = {"bootstrap_servers": os.environ["SERVERS"], "fetch_max_wait_ms": 50}
worker = Worker(os.environ["GROUP"], shutdown_timeout=float(os.environ["SHUTDOWN"]), **FAST)
unfit = Worker(os.environ["GROUP"], **FAST)
pause = threading.Event().wait


def note(what: str, value: bytes, record: ShareRecord) -> None:
    line = f"{os.getpid()} {what} {value.decode()} {record.delivery_count}\\n"
    with Path("calls").open("a") as calls:
        calls.write(line)


@worker.handler(os.environ["TOPIC"], dead_letters=DEAD, timeout=TIMEOUT, errors={ZeroDivisionError: OnError.STOP})
def handle(value: bytes, record: ShareRecord) -> object:
    note("begins", value, record)
    word = value.decode().split("-")[0]
    if word == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "exit":
        os._exit(0)
    elif word == "hang" and record.delivery_count == 1:
        pause()
    elif word == "held":
        pause() if record.delivery_count == 1 else pause(0.05)
    elif word == "slow":
        pause(0.02)
    elif word == "zero":
        1 / 0
    elif word == "stop":
        worker.stop()
    elif word == "undone":
        return iter(())
    note("ends", value, record)


@unfit.handler(os.environ["TOPIC"], dead_letters="orders.missing")
def never(value: bytes) -> None: ...
'''

_QUIET: Mapping[str, str] = MappingProxyType({})


@frozen
class HandledCall:
    """A line that a handler wrote: the process, what happened, the value and the delivery count."""

    pid: int
    what: str
    value: str
    delivery_count: int


def read_calls(directory: Path) -> Sequence[HandledCall]:
    """Return the calls of the handlers of all workers that were started in a directory."""
    file = directory / "calls"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    parts = [line.split() for line in lines]
    return [HandledCall(int(pid), what, value, int(count)) for pid, what, value, count in parts]


@define(eq=False)
class StartedWorker:
    """A worker's command or script that was started."""

    process: "subprocess.Popen[bytes]"
    directory: Path
    port: int
    _status: int | None = field(default=None, init=False)

    @property
    def log(self) -> str:
        """What it has logged."""
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")

    @property
    def out(self) -> str:
        """What it has printed."""
        return (self.directory / "out").read_text(encoding="utf-8")

    @property
    def calls(self) -> Sequence[HandledCall]:
        """The calls of the handler."""
        return read_calls(self.directory)

    def values(self, what: str = "ends") -> list[str]:
        """The values of the calls, in their order."""
        return [call.value for call in self.calls if call.what == what]

    @property
    def pids(self) -> set[int]:
        """The processes that called the handler."""
        return {call.pid for call in self.calls}

    def asked(self, path: str) -> tuple[int, str]:
        """Ask the probe. Status 0: it does not listen."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def wait_until_ready(self) -> None:
        """Wait until the probe says that all processes are ready."""
        wait_until(lambda: self.has_ended or self.asked("/ready")[0] == 200, 40, lambda: self.log)
        assert not self.has_ended, self.log

    def wait_for_log(self, text: str) -> None:
        """Wait until a text is in the log."""
        wait_until(lambda: text in self.log, 40, lambda: self.log)

    def wait_for_calls(self, count: int, what: str = "ends") -> None:
        """Wait until there were so many calls."""
        wait_until(lambda: len(self.values(what)) >= count, 40, lambda: (self.calls, self.log))

    @property
    def has_ended(self) -> bool:
        """Whether the process, which is the parent of others, has ended."""
        return self.process.poll() is not None

    def ended(self, within_s: float = 40) -> int:
        """Wait until it has ended, and return its exit status."""
        return self.process.wait(within_s)

    def stopped(self, number: signal.Signals = signal.SIGTERM, *, within_s: float = 40) -> int:
        """Stop it by a signal, and return its exit status."""
        self.process.send_signal(number)
        return self.ended(within_s)


Start = Callable[..., StartedWorker]
"""Starts a worker for a scene, with arguments of the command; see `start_worker`."""


def start_worker(
    scene: WorkerScene,
    directory: Path,
    *arguments: str,
    command: Sequence[str] = ("-m", "kafka_groups.cli", "worker"),
    has_letters: bool = False,
    environment: Mapping[str, str] = _QUIET,
) -> StartedWorker:
    """Start a command with the worker of `shop.py`, or a script."""
    directory.mkdir(exist_ok=True)
    (directory / "shop.py").write_text(SHOP, encoding="utf-8")
    port = free_port()
    given = {
        **os.environ, "SERVERS": scene.broker.servers, "GROUP": scene.group_id, "TOPIC": scene.name,
        "DEAD": scene.dead if has_letters else "", "TIMEOUT": "0.5",
        "SHUTDOWN": "4", **environment,
    }  # fmt: skip
    line = [sys.executable, "-W", "error", *command, *(each.replace("{port}", str(port)) for each in arguments)]
    with (directory / "log").open("wb") as log, (directory / "out").open("wb") as out:
        process = subprocess.Popen(line, cwd=directory, env=given, stdout=out, stderr=log)
    return StartedWorker(process, directory, port)


def free_port() -> int:
    """Return a port that nothing uses now, below those that the system gives to connections of clients."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def is_alive(pid: int) -> bool:
    """Return whether there is a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
