"""The driver's process with the Java machine and the Python workers below it: started, told, killed as a whole."""

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
    """The driver ended by itself."""


class DriverProcess(ChildProcess):
    """One run of the driver, in a session and process group of its own that the Java machine shares.

    Args:
        options: Options of the driver.
        log: Where its standard output and error go, and Spark's.
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
        """Send a command; a driver that has ended does not hear it."""
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(f"{command}\n".encode())
                self._process.stdin.flush()

    def kill(self) -> None:
        """End the driver and its Java machine at once (SIGKILL)."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End what runs of it, and give back what it needed."""
        self.kill()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def failure(self) -> DriverFailedError:
        """The error of a driver that ended by itself, with the end of what it wrote."""
        return DriverFailedError(f"the driver {self.last_words()}")


def _environment(directory: Path) -> dict[str, str]:
    # Spark's Python workers are to be this Python, and to find this package where it is.
    package = str(Path(kafka_groups.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": path}
    return os.environ | python | {"TMPDIR": str(directory)}
