"""Small programs that obey lines of standard input, and answer questions with a line each."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["JavaProgram", "LineProgram", "java_command", "pairs"]

_SOURCES = Path(__file__).parent / "java"
_COMPILING_S = 120
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"


class LineProgram:
    """A program that runs. Use it as a context manager; it ends with its standard input.

    Args:
        command: The program and its arguments.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def say(self, *words: str) -> None:
        """Give an order."""
        orders = self._process.stdin
        assert orders is not None
        orders.write(" ".join(words) + "\n")
        orders.flush()

    def ask(self, *words: str) -> list[str]:
        """Ask a question, and return the words of the answer, which comes when all orders before are carried out."""
        return self.ask_line(" ".join(words)).split()

    def ask_line(self, question: str) -> str:
        """As `ask`, with a line for the question and a line for the answer."""
        self.say(question)
        answers = self._process.stdout
        assert answers is not None
        return answers.readline()


class JavaProgram(LineProgram):
    """A Java program that runs.

    Args:
        name: Name of its class, and of its source without the ending.
        directory: Where the compiled program goes.
        classpath: What it needs.
        more: Names of other classes that it finds by name.
    """

    def __init__(self, name: str, directory: Path, classpath: str, *more: str) -> None:
        super().__init__(java_command(name, directory, classpath, *more))


def java_command(name: str, directory: Path, classpath: str, *more: str, is_optimised: bool = False) -> list[str]:
    """Compile a Java program, and return the command that runs it. The arguments are those of `JavaProgram`.

    It starts quickly, or it optimises what runs long.
    """
    sources = [str(_SOURCES / f"{each}.java") for each in (name, *more)]
    subprocess.run(["javac", "-cp", classpath, "-d", str(directory), *sources], check=True, timeout=_COMPILING_S)
    options = [] if is_optimised else ["-XX:TieredStopAtLevel=1"]
    return ["java", *options, _QUIET, "-cp", f"{directory}:{classpath}", name]


def pairs(properties: dict[str, str]) -> list[str]:
    """Return properties as words. Underscores in their names stand for dots."""
    return [f"{key.replace('_', '.')}={value}" for key, value in properties.items()]
