"""Which tests have to run in one process when `pytest -n` runs them in several, and which start first.

A Spark session and a real Kafka take seconds to start, so the tests that share one are a group: a group runs in one
process. All other tests go one by one to whichever process is free, the long ones first, so that the processes end at
about the same time.
"""

import fcntl
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.support.kafka.older_kafkas import OLDER_KAFKAS

__all__ = ["GroupScheduling", "OneFirst", "groups_of", "longest_first"]

_LONG_FIRST = ("integration", "docs", "conformance", "simulation", "properties")
"""Folders by how long one of their tests takes; the others come after these."""

_USUAL_TIMEOUT_S = 120


class GroupScheduling(LoadScopeScheduling):
    """Gives each process one group of tests after the other, the largest first, and then single tests.

    pytest-xdist's own groups (`--dist loadgroup`) come as part of the tests' ids, which do not change in pytest 9.

    Args:
        config: Of the process that runs no tests.
        log: Where pytest-xdist wants it to log.
        groups: The file into which the first process writes what `groups_of` says.
    """

    def __init__(self, config: pytest.Config, log: Producer, groups: Path) -> None:
        super().__init__(config, log)
        self._file = groups
        self._groups: Mapping[str, str] | None = None

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget groups that are complete: pytest-xdist looks through all of a process's groups after each test."""
        super().mark_test_complete(node, item_index, duration)
        groups = self.assigned_work[node]
        group = self._split_scope(self.registered_collections[node][item_index])
        if all(groups[group].values()):
            del groups[group]

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            self._groups = json.loads(self._file.read_text(encoding="utf-8"))
        return self._groups.get(nodeid, nodeid)


class OneFirst:
    """Lets one process go ahead with what plugins do after the collection, and the others wait for it.

    Hypothesis looks for constants in all modules of the package then. What the first process has found is in
    Hypothesis's cache, so that the others need not parse the package as well, which takes each of them five seconds.

    Args:
        file: That all processes lock. A process that ends lets go of it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self) -> Generator[None, object, object]:
        """Hold the lock alone, or, if another process does, wait until it is done and then go on beside the others."""
        with self._file.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(file, fcntl.LOCK_SH)
            return (yield)


def groups_of(items: Iterable[pytest.Item]) -> dict[str, str]:
    """The group of each test that is in one, by the test's id."""
    return {item.nodeid: group for item in items for group in [next(_groups(item), None)] if group is not None}


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests in the order in which they should start, in whatever order their modules were collected."""
    items.sort(key=_urgency)


def _groups(item: pytest.Item) -> Iterator[str]:
    """Groups that the test could be in; the first of them counts."""
    yield from (mark.args[0] for mark in item.iter_markers("xdist_group"))
    kafka = item.get_closest_marker("real_kafka") is not None
    fixtures: tuple[str, ...] = getattr(item, "fixturenames", ())
    if item.get_closest_marker("faults"):
        yield f"{item.path.stem} on {'Kafka' if kafka else 'embedded brokers'}"
    if item.get_closest_marker("simulation"):
        yield f"simulation in {item.path.parent.name}"  # the last test of a folder looks at what struck in all of them
    if "spark_or_skip" in fixtures:
        yield "Spark programs" if "docs" in item.path.parts else "Spark"
    if item.get_closest_marker("container"):
        yield "container"
    if kafka and (kind := _target(item, "kind")) in OLDER_KAFKAS:
        yield kind
    if kafka:
        yield (
            "Kafka" if not _is_slow_run(item.config) or "conformance" in item.path.parts else "Kafka, but for scenarios"
        )


def _is_slow_run(config: pytest.Config) -> bool:
    """Slow tests mostly wait for their Kafka. They end sooner in two processes, each with a Kafka of its own."""
    return bool(config.getoption("slow") or config.getoption("long"))


def _urgency(item: pytest.Item) -> tuple[float, int, str, tuple[str, ...]]:
    timeout = item.get_closest_marker("timeout")
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    return (
        -float(timeout.args[0]) if timeout is not None else -_USUAL_TIMEOUT_S,
        _LONG_FIRST.index(folder) if folder in _LONG_FIRST else len(_LONG_FIRST),
        _settings(item),
        item.path.parts,
    )


def _settings(item: pytest.Item) -> str:
    """The settings of the Kafka that a test wants; the next one may use the same if it wants the same."""
    kind = _target(item, "kind")
    return _target(item, "properties") + (kind if kind in OLDER_KAFKAS else "")


def _target(item: pytest.Item, attribute: str) -> str:
    """What a test wants of its cluster, as text; empty if it does not want one of those."""
    callspec: Any = getattr(item, "callspec", None)
    target = callspec.params.get("target") if callspec is not None else None
    return str(getattr(target, attribute, ""))
