"""The driver's process, with its Java virtual machine: the demo starts it, sends commands and kills it as a whole."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import kafka_groups
from kafka_groups.cli.demo.child_process import ChildProcess
from kafka_groups.cli.demo.pipeline.options import DriverOptions
from kafka_groups.errors import KafkaGroupsError

__all__ = ["DriverFailedError", "DriverProcess"]


class DriverFailedError(KafkaGroupsError):
    """The driver ended unexpectedly."""


class DriverProcess(ChildProcess):
    """One run of the driver. It shares its own session and process group with the Java virtual machine.

    Args:
        options: Options of the driver.
        log: File for its standard output and error, which include Spark's.
    """

    def __init__(self, options: DriverOptions, log: Path) -> None:
        command = [sys.executable, "-m", "kafka_groups.cli.demo.pipeline.driver", options.text()]
        with log.open("ab") as said:
            process = subprocess.Popen(  # noqa: S603 - the demo's own program
                command,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                cwd=options.directory,
                env=_environment(options.directory),
                start_new_session=True,
            )
        super().__init__(process, log)

    def tell(self, command: str) -> None:
        """Send a command. If the driver has ended, nothing happens."""
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(f"{command}\n".encode())
                self._process.stdin.flush()

    def kill(self) -> None:
        """Kill the driver and its Java virtual machine (SIGKILL)."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill the driver if it is running, and release its resources."""
        self.kill()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def failure(self) -> DriverFailedError:
        """Return the error for a driver that ended unexpectedly, with the end of its output."""
        return DriverFailedError(f"The driver {self.last_words()}")


def _environment(directory: Path) -> dict[str, str]:
    # Spark's Python workers must use this interpreter, and import this package from where it is.
    package = str(Path(kafka_groups.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": path}
    return os.environ | python | {"TMPDIR": str(directory)}
