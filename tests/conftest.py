"""What all tests share: the fixtures of the test kit that users get too, and how `pytest -n` deals tests out."""

import gc
import json
import logging
import os
import random
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.open_clusters import open_clusters
from tests.support.open_sockets import follow_sockets
from tests.support.open_transports import follow_transports, left_open
from tests.support.processes import GroupScheduling, OneFirst, groups_of, longest_first
from tests.support.stopped_runs import StoppedRun, announce

pytest_plugins = ["kafka_groups.testing.pytest_plugin", "pytester"]

# Containers often forbid byte code: each of some hundred processes that tests start would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Programs that tests run keep a Spark session for seconds: the optimising compiler would cost more than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# No test may fail because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.register_profile("brief", parent=settings.get_profile("patient"), max_examples=25)
settings.load_profile("patient")

_GROUPS_FILE = "kafka_groups_groups_file"
_PROCESSES = "kafka_groups_processes"
_directory = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How thorough the simulation and the runs with faults are."""
    parser.addoption("--seeds", type=int, default=1, help="seeds of the simulation (1)")
    parser.addoption("--fault-seeds", type=int, default=1, help="seeds of faults for each design (1)")
    parser.addoption("--fault-brokers", default="embedded", help="where they run (embedded), such as embedded,kafka")
    parser.addoption("--chaos-seconds", type=float, default=20, help="for how long processes are struck (20)")
    parser.addoption("--kill-seeds", type=int, default=1, help="seeds of kills of applications, for each broker (1)")
    parser.addoption(
        "--worker-seeds", type=int, default=1, help="seeds of faults of handler workers, for each broker (1)"
    )
    parser.addoption("--lockstep-seeds", type=int, default=1, help="seeds of the runs in lock-step with Kafka (1)")
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow, as .ci/run does")
    parser.addoption("--long", action="store_true", help="also run those marked slow or long, as .ci/long does")


def pytest_configure(config: pytest.Config) -> None:
    """Have Ctrl-C end this process and its children even if the shell that started it in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("patient" if config.getoption("--long") else "brief")
    follow_transports()
    config.stash[_directory] = tempfile.TemporaryDirectory(prefix="kafka-groups-tests-")
    config.add_cleanup(config.stash[_directory].cleanup)
    if hasattr(config, "workerinput"):
        announce(Path(config.workerinput[_PROCESSES]))
        config.pluginmanager.register(OneFirst(Path(config.workerinput[_GROUPS_FILE]).with_name("first")))
    elif config.getoption("dist", "no") != "no":
        _processes(config).mkdir()
        config.pluginmanager.register(StoppedRun(config, _processes(config)))


def pytest_sessionstart() -> None:
    """Follow sockets, now that pytest has set its own hook for what cannot be raised."""
    follow_sockets()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each process of `pytest -n` where to write the groups of tests, and that it is there."""
    node.workerinput[_GROUPS_FILE] = str(_groups_file(node.config))
    node.workerinput[_PROCESSES] = str(_processes(node.config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling | None:
    """Keep the tests that share a Spark session or a real Kafka in one process, unless `--dist` says otherwise."""
    return GroupScheduling(config, log, _groups_file(config)) if config.getoption("dist") == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, unless it is asked for."""
    wanted = {"slow": config.getoption("--slow") or config.getoption("--long"), "long": config.getoption("--long")}
    for marker in [name for name, is_wanted in wanted.items() if not is_wanted]:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker(marker)])
        items[:] = [item for item in items if not item.get_closest_marker(marker)]
    if hasattr(config, "workerinput"):
        longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: nearly everything that is made lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each process of `pytest -n` import the test modules in an order of its own.

    The first that imports a module keeps its byte code, with assertions rewritten, for the others. In the same order,
    all of them would compile each module at the same time, which takes longer than anything else in a fresh checkout.
    """
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker is not None and isinstance(collector, pytest.Directory) and report.result:
        random.Random(worker["workerid"]).shuffle(report.result)
    return report


# First, as pytest-xdist's main process goes on as soon as it hears of the end of the collection.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the garbage collector what lives until the end: tests that collect garbage take half a second less."""
    worker = getattr(session.config, "workerinput", {})
    if worker.get("workerid") == "gw0":
        Path(worker[_GROUPS_FILE]).write_text(json.dumps(groups_of(session.items)), encoding="utf-8")
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Fail a test that leaves something behind which others would stumble over, in whatever order.

    Loggers with another level, connections that are open although their event loop is closed, and, after the last test
    of a folder, embedded brokers: tests elsewhere put clocks and defects of their own into the classes.
    """
    result = yield
    transports = left_open()
    assert not transports, "\n".join(["the test left connections open:", *transports])
    folder = item.path.parent
    if nextitem is None or not nextitem.path.is_relative_to(folder):
        assert not open_clusters(), f"clusters outlive the tests of {folder.name}: give their fixture a smaller scope"
    changed = [logger for logger in _package_loggers() if logger.level]
    for logger in changed:
        logger.setLevel(logging.NOTSET)
    assert not changed, f"the test left levels at {changed}: set them with caplog"
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests recorded as `to_show`, from whichever process."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "to_show":
                terminalreporter.write_line(f"\n{value}")


def _package_loggers() -> list[logging.Logger]:
    loggers = logging.Logger.manager.loggerDict.values()
    return [it for it in loggers if isinstance(it, logging.Logger) and it.name.startswith("kafka_groups")]


def _groups_file(config: pytest.Config) -> Path:
    return Path(config.stash[_directory].name) / "groups.json"


def _processes(config: pytest.Config) -> Path:
    return Path(config.stash[_directory].name) / "processes"
