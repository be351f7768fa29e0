"""What importing loads: nothing heavy before it is used."""

import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import kafka_groups
import kafka_groups.assignment
import kafka_groups.share
import kafka_groups.spark
import kafka_groups.streams.processors
import kafka_groups.telemetry
import kafka_groups.testing
import kafka_groups.testing.assignors
from kafka_groups.cli import entry
from tests.benchmarks.footprint import installed_mib, measured

HEAVY = {
    "aiokafka",
    "click",
    "confluent_kafka",
    "hypothesis",
    "kio",
    "msgspec",
    "numpy",
    "opentelemetry",
    "pandas",
    "prometheus_client",
    "pyarrow",
    "pyspark",
    "pytest",
    "rich",
    "tenacity",
    "testcontainers",
}
POLL = """
from kafka_groups import KafkaShareConsumer
from kafka_groups.testing import EmbeddedCluster, FAST_SETTINGS
with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
    cluster.create_topic("t")
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.subscribe(["t"])
        cluster.group("g").wait_until_members(1)
"""
WITHOUT_POSIX = """
import os, signal, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "uvloop"):
    sys.modules[name] = None
for name in ("fork", "getuid", "killpg", "register_at_fork", "setsid"):
    delattr(os, name)
for name in ("SIGKILL", "pthread_kill"):
    delattr(signal, name)
"""


def loaded_by(program: str) -> set[str]:
    """The top-level packages that a program loads."""
    shown = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{program}\n{shown}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import kafka_groups", set()),
        ("from kafka_groups import AcknowledgeType, TopicPartition", set()),
        ("import kafka_groups.errors, kafka_groups.config.clients.share", set()),
        ("from kafka_groups import serdes; serdes.time_windowed(serdes.string, 5)", set()),
        ("import kafka_groups.spark", set()),
        ("import kafka_groups.cli.entry", set()),
        ("from kafka_groups import KafkaShareConsumer", set()),
        ("from kafka_groups import AsyncKafkaShareConsumer", set()),
        ("from kafka_groups.testing import EmbeddedCluster", set()),
        ("from kafka_groups.testing import simulate", set()),
        (POLL, {"kio", "hypothesis"}),  # kio imports hypothesis where that is installed
        ("import kafka_groups.cli.main", {"click"}),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(program: str, heavy: set[str]) -> None:
    assert (loaded_by(program) & HEAVY) | {"hypothesis"} == heavy | {"hypothesis"}


@pytest.mark.parametrize("package", ["kafka_groups", "kafka_groups.testing"])
def test_importing_a_package_loads_none_of_the_modules_that_define_its_names(package: str) -> None:
    program = f"import {package}, sys; print(*[name for name in sys.modules if name.startswith('kafka_groups.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {package} == {"kafka_groups.lazy_exports"}


@pytest.mark.parametrize(
    "package",
    [
        kafka_groups,
        kafka_groups.assignment,
        kafka_groups.share,
        kafka_groups.spark,
        kafka_groups.streams.processors,
        kafka_groups.telemetry,
        kafka_groups.testing,
        kafka_groups.testing.assignors,
    ],
)
def test_every_public_name_is_there_and_listed(package: ModuleType) -> None:
    names = package.__all__
    assert all(getattr(package, name) is not None for name in names)
    assert set(names) <= vars(package).keys() & set(dir(package))
    assert sorted(names) == sorted(package._MODULES)


def test_a_name_is_listed_before_it_is_imported() -> None:
    program = "import kafka_groups; print('KafkaShareConsumer' in dir(kafka_groups), *vars(kafka_groups))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True ")
    assert "KafkaShareConsumer" not in done.stdout


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'kafka_groups' has no attribute 'Nothing'") as caught:
        _ = kafka_groups.Nothing  # type: ignore[attr-defined] # a type checker reports it, too
    assert caught.value.name == "Nothing"
    assert caught.value.obj is kafka_groups


def test_the_version_is_that_of_the_installed_package() -> None:
    assert kafka_groups.__version__ == version("kafka-groups")


def test_the_client_and_the_embedded_broker_need_nothing_that_windows_lacks() -> None:
    assert "kafka_groups" in loaded_by(WITHOUT_POSIX + POLL)


def test_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "find_spec", lambda name: None if name == "rich" else object())
    with pytest.raises(
        SystemExit, match=r"^kafka-groups needs rich\. Run pip install '\.\[cli\]' in the checkout of kafka-groups"
    ):
        entry.main()


def test_the_footprint_is_measured() -> None:
    seconds, _, modules = measured("import kafka_groups", runs=1)
    assert seconds > 0
    assert modules > 10
    assert installed_mib()[1] > 10
