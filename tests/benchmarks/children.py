"""Child processes whose errors are kept, so that a failure says why; they are passed on when the child has ended."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_LAST_CHARACTERS = 2_000
_TIMEOUT_S = 900.0


class ChildFailedError(Exception):
    """A child process failed; the message has the end of its output."""


class Child:
    """A process that runs; made by `child`."""

    def __init__(self, process: "subprocess.Popen[str]", errors: IO[str]) -> None:
        self.process = process
        self._errors = errors
        assert process.stdout is not None
        self.output = process.stdout

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def line(self) -> str:
        """Wait for its next line; empty if it has ended."""
        return self.output.readline()

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)

    def close_input(self) -> None:
        """Close its standard input, at which it ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def errors(self) -> str:
        """All that it wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def failed(self, what: str) -> ChildFailedError:
        """Return an error with the end of what it wrote; ends it if it still runs."""
        self.process.kill()
        rest = self.output.read()
        status = self.process.wait()
        return ChildFailedError(f"{what} (status {status}):\n{(rest + self.errors())[-_LAST_CHARACTERS:].strip()}")


@contextmanager
def child(
    command: Sequence[str],
    checkout: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = _TIMEOUT_S,
    *,
    passes_errors_on: bool = True,
) -> Iterator[Child]:
    """A process with pipes for input and output, in another checkout of this project if one is given.

    Its modules are those of that checkout, also in processes that it starts. It is killed after the timeout. The end of
    the block waits until it ends.
    """
    variables = dict(os.environ if environment is None else environment)
    if checkout is not None:
        variables["PYTHONPATH"] = str(checkout)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                         cwd=checkout, env=variables) as process,
    ):  # fmt: skip
        started = Child(process, errors)
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        try:
            yield started
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
            if passes_errors_on:
                sys.stderr.write(started.errors())
