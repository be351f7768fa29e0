"""Fixtures for pytest; switch them on with `pytest_plugins = ["kafka_groups.testing.pytest_plugin"]` in `conftest.py`.

A test that uses `real_kafka` or `kafka_container` gets the marker of the same meaning (`real_kafka`, `container`),
so that `-m "not real_kafka"` leaves it out. What they need may be missing: then such tests are skipped and the
reason is given, except where `KAFKA_GROUPS_REQUIRE_REAL_KAFKA=1` says that this must not go unnoticed.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from kafka_groups.testing.kafka_container import DEFAULT_IMAGE, KafkaContainer, missing_engine, missing_image
from kafka_groups.testing.kafka_jars import (
    DEFAULT_KAFKA_VERSION,
    RealKafkaUnavailableError,
    kafka_jars,
    missing_tools,
)
from kafka_groups.testing.kafka_process import KafkaProcess

if TYPE_CHECKING:
    from kafka_groups.testing.topology_driver import TopologyTestDriver
    from kafka_groups.testing.worker_driver import WorkerTestDriver

__all__ = [
    "IMAGE_VARIABLE",
    "REQUIRE_VARIABLE",
    "SCOPE_OPTION",
    "VERSION_VARIABLE",
    "embedded_cluster",
    "kafka_container",
    "real_kafka",
    "topology_driver",
    "worker_driver",
]

REQUIRE_VARIABLE = "KAFKA_GROUPS_REQUIRE_REAL_KAFKA"
"""Environment variable. With `1`, tests that need a real Kafka fail if it is missing, instead of being skipped."""

VERSION_VARIABLE = "KAFKA_GROUPS_KAFKA_VERSION"
"""Environment variable with the Kafka release that `real_kafka` starts; 4.4.0 by default."""

IMAGE_VARIABLE = "KAFKA_GROUPS_KAFKA_IMAGE"
"""Environment variable with the image that `kafka_container` runs; `apache/kafka` of the same release by default."""

SCOPE_OPTION = "embedded_cluster_scope"
"""Option of pytest's configuration file. With `module` or another scope, tests share an `embedded_cluster`."""

_FixtureScope = Literal["function", "class", "module", "package", "session"]

_MARKERS = {"real_kafka": "real_kafka", "kafka_container": "container"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the scope of `embedded_cluster`."""
    scopes = ", ".join(get_args(_FixtureScope))
    parser.addini(SCOPE_OPTION, f"How long an embedded_cluster lives: {scopes}", default="function")


def pytest_configure(config: pytest.Config) -> None:
    """Check the scope of `embedded_cluster`, and declare the markers, for projects with strict markers."""
    scope = config.getini(SCOPE_OPTION)
    if scope not in get_args(_FixtureScope):
        raise pytest.UsageError(f"{SCOPE_OPTION} = {scope}: use one of {', '.join(get_args(_FixtureScope))}.")
    config.addinivalue_line("markers", "real_kafka: needs a real Kafka from Maven Central (Java 17 and Maven)")
    config.addinivalue_line("markers", "container: needs a Docker engine and a Kafka image")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use this plugin's fixtures."""
    for item in items:
        for fixture in _MARKERS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_MARKERS[fixture])


def _scope(fixture_name: str, config: pytest.Config) -> _FixtureScope:
    return cast("_FixtureScope", config.getini(SCOPE_OPTION))


@pytest.fixture(scope=_scope)
def embedded_cluster() -> Iterator[EmbeddedCluster]:
    """An embedded cluster with one broker and `FAST_SETTINGS`: a new one for each `embedded_cluster_scope`, or test."""
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def topology_driver() -> Iterator[type["TopologyTestDriver"]]:
    """The class `TopologyTestDriver`. The drivers that a test makes with it are closed at the end of the test."""
    from kafka_groups.testing.topology_driver import TopologyTestDriver  # noqa: PLC0415 - many tests have no topology

    with ExitStack() as made:

        class ClosedDriver(TopologyTestDriver):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                made.callback(self.close)

        yield ClosedDriver


@pytest.fixture
def worker_driver() -> Iterator[type["WorkerTestDriver"]]:
    """The class `WorkerTestDriver`. The drivers that a test makes with it are open until the end of the test."""
    from kafka_groups.testing.worker_driver import WorkerTestDriver  # noqa: PLC0415 - many tests have no worker

    with ExitStack() as made:

        class OpenDriver(WorkerTestDriver):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                made.enter_context(self)

        yield OpenDriver


@pytest.fixture(scope="session")
def real_kafka() -> Iterator[KafkaProcess]:
    """A real Kafka from Maven Central, started once per test run. Use your own topics and groups."""
    version = os.environ.get(VERSION_VARIABLE, DEFAULT_KAFKA_VERSION)
    reason = _why_no_jars(version)
    if reason is not None:
        skip_unless_required(reason)
    with KafkaProcess(version) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def kafka_container() -> Iterator[KafkaContainer]:
    """A real Kafka in a container, started once per test run. Use your own topics and groups."""
    image = os.environ.get(IMAGE_VARIABLE, DEFAULT_IMAGE)
    reason = missing_engine() or missing_image(image)
    if reason is not None:
        pytest.skip(reason)
    with KafkaContainer(image) as container:
        yield container


def _why_no_jars(version: str) -> str | None:
    missing = missing_tools()
    if missing is not None:
        return missing
    try:
        kafka_jars(version)
    except RealKafkaUnavailableError as error:
        return str(error)
    return None


def skip_unless_required(reason: str) -> None:
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{REQUIRE_VARIABLE}=1, but {reason}")
    pytest.skip(reason)
