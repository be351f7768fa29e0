"""Driver processes as the harness sees them: started, told what to run, killed, and counted when all is over."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import attrs
import psutil
from attrs import frozen

from kafka_groups.net.clock import SystemClock
from kafka_groups.types import random_uuid
from tests.faults.board import pause
from tests.faults.handling import Job
from tests.faults.plan import CLUSTER
from tests.support.spark.sessions import ROOT, spark_environment

_MARK = "KAFKA_GROUPS_FAULTS_DRIVER"
"""Environment variable by which all processes that a driver starts are known, whoever their parent is by now."""
_START_S = 120.0
_STOP_S = 60.0
_LEFTOVER_S = 20.0
_LOG_TAIL_BYTES = 8_000


class DriverError(Exception):
    """A driver process did not do what it should."""


class Driver:
    """One driver process with its JVM.

    Args:
        master: Spark's master.
        directory: For its log and for Spark's files.
    """

    def __init__(self, master: str, directory: Path) -> None:
        self.mark = random_uuid(random.Random()).hex
        self.master = master
        self.local_directory = directory / "local"
        self._log = directory / "driver.log"
        self.local_directory.mkdir(parents=True)
        environment = {**os.environ, **spark_environment(), _MARK: self.mark, "SPARK_LOCAL_IP": "127.0.0.1"}
        if master == CLUSTER:
            environment["SPARK_HOME"] = str(_spark_home(directory / "spark"))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.driver", master, str(self.local_directory)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=environment,
                start_new_session=True,
            )  # fmt: skip
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="driver-answers", daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"<Driver {self._process.pid} on {self.master}>"

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Wait for its Spark session.

        Raises:
            DriverError: It does not come.
        """
        try:
            self._answers.get(timeout=_START_S)
        except Empty:
            self.kill()
            raise DriverError(f"no Spark session in {_START_S} s:\n{self.log_tail()}") from None

    def run(self, job: Job) -> None:
        """Have it run a job; `answer` tells when that has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(attrs.asdict(job)) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """What it has answered, if anything."""
        try:
            return self._answers.get_nowait()
        except Empty:
            return None

    def kill(self) -> None:
        """SIGKILL for the interpreter and its JVM; all else must end by itself."""
        with contextlib.suppress(psutil.NoSuchProcess):
            jvms = [child for child in psutil.Process(self._process.pid).children() if child.name() == "java"]
            for process in (*jvms, psutil.Process(self._process.pid)):
                process.kill()
        self._close()

    def close(self) -> None:
        """End it in good order.

        Raises:
            DriverError: It does not end.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DriverError(f"{self!r} did not end in {_STOP_S} s:\n{self.log_tail()}") from None
        self._close()

    def log_tail(self) -> str:
        """The end of its standard error."""
        return self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))

    def _close(self) -> None:
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class Drivers:
    """Driver processes, one for each master, that serve a run after the other until one is killed.

    Args:
        directory: For their files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._by_master: dict[str, Driver] = {}
        self._started = 0
        self._gone: list[str] = []

    def take(self, master: str) -> Driver:
        """The driver that is there for a master, or a new one."""
        known = self._by_master.get(master)
        if known is not None and known.is_alive:
            return known
        self._started += 1
        driver = self._by_master[master] = Driver(master, self._directory / f"driver-{self._started}")
        driver.wait_until_ready()
        return driver

    def kill(self, driver: Driver) -> None:
        """SIGKILL for a driver; the next `take` starts another."""
        driver.kill()
        self._gone.append(driver.mark)

    def leftovers(self) -> list[str]:
        """Processes that outlive a killed driver by more than they may; they are killed."""
        left = [process for mark in self._gone for process in _left_behind(mark)]
        self._gone.clear()
        return left

    def close(self) -> list[str]:
        """End all drivers; what outlives them, as `leftovers`."""
        for driver in self._by_master.values():
            if driver.is_alive:
                driver.close()
                self._gone.append(driver.mark)
        return self.leftovers()


@contextmanager
def running_drivers() -> Iterator[Drivers]:
    """Drivers that are started when they are needed.

    Raises:
        DriverError: Something outlived them.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-groups-faults-", ignore_cleanup_errors=True) as directory:
        drivers = Drivers(Path(directory))
        left: list[str] = []
        try:
            yield drivers
        finally:
            left = drivers.close()
        if left:
            raise DriverError(f"processes outlive their driver: {left}")


@frozen
class Found:
    """A process and what it runs."""

    process: psutil.Process
    command: str


def found(mark: str) -> list[Found]:
    """All processes that a driver started, directly or not, and that live."""
    return [Found(process, command) for process in psutil.process_iter() if (command := _command(process, mark))]


def _command(process: psutil.Process, mark: str) -> str:
    try:
        if process.environ().get(_MARK) != mark or process.status() == psutil.STATUS_ZOMBIE:
            return ""
        return " ".join(process.cmdline()) or process.name()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return ""


def kill_executor(worker_pid: int) -> None:
    """SIGKILL for the executor's JVM above a Python worker."""
    above = psutil.Process(worker_pid).parents()
    next(process for process in above if process.name() == "java").kill()


def kill_source_runner(mark: str, signal_number: int = signal.SIGKILL) -> bool:
    """A signal for the process in which Spark runs the source of a query; whether there is one."""
    running = [it.process for it in found(mark) if "python_streaming_source_runner" in it.command]
    for process in running:
        process.send_signal(signal_number)
    return bool(running)


def _left_behind(mark: str) -> list[str]:
    clock = SystemClock()
    deadline_ms = clock.now_ms() + round(_LEFTOVER_S * 1000)
    while (left := found(mark)) and clock.now_ms() < deadline_ms:
        pause(0.1)
    for it in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            it.process.kill()
    return [it.command[-120:] for it in left]


def _spark_home(directory: Path) -> Path:
    """A Spark home of its own, made of links: executors of a local cluster work below it."""
    import pyspark  # noqa: PLC0415 - only where Spark is

    directory.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (directory / entry.name).symlink_to(entry)
    return directory
