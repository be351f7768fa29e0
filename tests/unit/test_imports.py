"""What importing loads: nothing heavy before it is used."""

import subprocess
import sys

import pytest

import kafka_groups
from kafka_groups.cli import entry
from tests.benchmarks.footprint import installed_mib, measured

HEAVY = {
    "aiokafka",
    "click",
    "confluent_kafka",
    "hypothesis",
    "kio",
    "numpy",
    "pandas",
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
        ("import kafka_groups.errors, kafka_groups.config.share", set()),
        ("import kafka_groups.spark", set()),
        ("import kafka_groups.cli.entry", set()),
        ("from kafka_groups import KafkaShareConsumer", set()),
        ("from kafka_groups import AsyncKafkaShareConsumer", set()),
        ("from kafka_groups.testing import EmbeddedCluster", set()),
        (POLL, {"kio", "hypothesis"}),  # kio imports hypothesis where that is installed
        ("import kafka_groups.cli.main", {"click"}),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(program: str, heavy: set[str]) -> None:
    assert (loaded_by(program) & HEAVY) | {"hypothesis"} == heavy | {"hypothesis"}


def test_importing_the_package_loads_none_of_its_modules() -> None:
    program = "import kafka_groups, sys; print(*[name for name in sys.modules if name.startswith('kafka_groups.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize("name", kafka_groups.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kafka_groups, name) is not None
    assert name in dir(kafka_groups)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'kafka_groups' has no attribute 'Nothing'"):
        _ = kafka_groups.Nothing


def test_the_client_and_the_embedded_broker_need_nothing_that_windows_lacks() -> None:
    assert "kafka_groups" in loaded_by(WITHOUT_POSIX + POLL)


def test_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "find_spec", lambda name: None if name == "rich" else object())
    with pytest.raises(SystemExit, match=r"^kafka-groups needs rich\. Run: pip install 'kafka-groups\[cli\]'$"):
        entry.main()


def test_the_footprint_is_measured() -> None:
    seconds, _, modules = measured("import kafka_groups", runs=1)
    assert seconds > 0
    assert modules > 10
    assert installed_mib()[1] > 10
