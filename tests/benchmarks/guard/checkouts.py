"""The two checkouts: where they are, and what their benchmarks can do."""

import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.benchmarks.children import child
from tests.benchmarks.guard.figures import NOW, THEN
from tests.benchmarks.guard.turns import MissingError

__all__ = ["Checkout", "Checkouts", "both", "commit_of", "guarded_commits"]

ROOT: Final = Path(__file__).resolve().parents[3]
_LINE: Final = re.compile(r"^<!-- guard(?: (?P<parts>[a-z0-9, -]+))?: (?P<commit>\w+) -->$", re.MULTILINE)
_PROBE: Final = """
import json, sys
from importlib import import_module

def has(need):
    module, _, name = need.partition(":")
    try:
        return hasattr(import_module(module), name)
    except ModuleNotFoundError as error:
        return error.name is None or not f"{module}.".startswith(f"{error.name}.")
    except Exception:
        return True  # it is there and broken, which its row will say

import kafka_groups
import tests.benchmarks
found = {need: has(need) for need in sys.argv[1:]}
print(json.dumps({"modules": [kafka_groups.__file__, tests.benchmarks.__file__], "found": found}))
"""


@frozen
class Checkout:
    """A checkout of this project.

    Attributes:
        directory: Where it is.
        package: The file that `import kafka_groups` finds in a process of this checkout.
        found: Which of the programs and names that the guard needs it has.
    """

    directory: Path
    package: str
    found: Mapping[str, bool]

    def has(self, needs: Sequence[str]) -> bool:
        """Whether it has all of them."""
        return all(self.found[need] for need in needs)

    def check(self, needs: Sequence[str]) -> None:
        """Raise MissingError if it lacks one of them."""
        if lacking := [need for need in needs if not self.found[need]]:
            raise MissingError(f"there is no {', '.join(lacking)}")


@frozen
class Checkouts:
    """Both, and a third one with the benchmarks of this checkout and the package of the earlier one.

    Attributes:
        by_version: This checkout and the earlier one, each with its own benchmarks.
        foreign: The third one.
    """

    by_version: Mapping[str, Checkout]
    foreign: Path

    def of(self, version: str, needs: Sequence[str] = ()) -> Path:
        """The directory of a version. Raises MissingError if it lacks what is needed."""
        self.by_version[version].check(needs)
        return self.by_version[version].directory

    def with_these_benchmarks(self, version: str, needs: Sequence[str] = ()) -> Path:
        """A directory with the package of a version and the programs of this checkout, where rates depend on them.

        Raises MissingError if the version lacks what is needed.
        """
        self.by_version[version].check(needs)
        return self.foreign if version == THEN else self.by_version[version].directory

    def ours_for(self, version: str, needs: Sequence[str]) -> Path:
        """The directory of a version, or the benchmarks of this checkout with its package if it lacks the program."""
        return self.by_version[version].directory if self.by_version[version].has(needs) else self.foreign


@contextmanager
def both(commit: str, repository: Path, needs: Sequence[str]) -> Iterator[Checkouts]:
    """This checkout, and one of the commit in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="kafka-groups-guard-") as directory:
        then, foreign = Path(directory).resolve() / THEN, Path(directory).resolve() / "foreign"
        _extract(commit, repository, then)
        foreign.mkdir()
        (foreign / "kafka_groups").symlink_to(then / "kafka_groups")
        (foreign / "tests").symlink_to(ROOT / "tests")
        yield Checkouts({NOW: _probed(ROOT, needs), THEN: _probed(then, needs)}, foreign)


def commit_of(repository: Path, name: str) -> str:
    """The short id of a commit."""
    return _git(repository, "rev-parse", "--short", f"{name}^{{commit}}").decode().strip()


def guarded_commits(page: str, parts: Sequence[str]) -> Mapping[str, str]:
    """Return the commit that docs/benchmarks.md names for each part.

    A line `<!-- guard: COMMIT -->` is for all parts without a line of their own, `<!-- guard PART, PART: COMMIT -->`.
    """
    named: dict[str, str] = {}
    for line in _LINE.finditer(page):
        for part in (line["parts"] or "").split(","):
            assert part.strip() in ("", *parts), f"{line[0]}: the parts are {', '.join(parts)}"
            assert part.strip() not in named, f"{line[0]}: there is another line for this"
            named[part.strip()] = line["commit"]
    assert "" in named, "there must be a line <!-- guard: COMMIT -->"
    return {part: named.get(part, named[""]) for part in parts}


def _extract(commit: str, repository: Path, directory: Path) -> None:
    archive = _git(repository, "archive", "--format=tar", commit, "kafka_groups", "tests", "pyproject.toml")
    with tarfile.open(fileobj=BytesIO(archive)) as members:
        members.extractall(directory, filter="data")
    compiled = [sys.executable, "-m", "compileall", "-q", "kafka_groups", "tests/benchmarks", "tests/support"]
    subprocess.run(
        compiled, cwd=directory, check=True
    )  # or the first process that imports it would be slower and larger


def _git(repository: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)} in {repository}: {done.stderr.decode().strip()}"
    return done.stdout


def _probed(directory: Path, needs: Sequence[str]) -> Checkout:
    with child([sys.executable, "-c", _PROBE, *needs], directory) as running:
        line = running.line()
        if not line:
            raise running.failed(f"the modules of {directory} cannot be imported")
    told = json.loads(line)
    for module in told["modules"]:
        assert Path(module).is_relative_to(directory), f"{module} was imported instead of that in {directory}"
    return Checkout(directory, told["modules"][0], told["found"])
