"""Importing costs nothing without the extras, and says what to install where they are needed."""

import importlib
import re
import subprocess
import sys

import pytest

from kafka_groups.telemetry.extras import tell_missing

LIBRARIES = {"prometheus_client", "opentelemetry"}


def loaded_by(program: str) -> set[str]:
    """The top-level packages that a program loads."""
    shown = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{program}\n{shown}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("program", "libraries"),
    [
        ("import kafka_groups; kafka_groups.KafkaShareConsumer; kafka_groups.StreamsGroupMember", set()),
        ("import kafka_groups.streams; kafka_groups.streams.KafkaStreams", set()),
        ("from kafka_groups.testing import EmbeddedCluster", set()),
        ("import kafka_groups.telemetry.sources, kafka_groups.telemetry.workers", set()),
        ("import kafka_groups.telemetry.prometheus", {"prometheus_client"}),
        ("import kafka_groups.telemetry.tracing, kafka_groups.telemetry.opentelemetry", {"opentelemetry"}),
    ],
)
def test_a_library_is_loaded_by_the_module_that_uses_it(program: str, libraries: set[str]) -> None:
    assert loaded_by(program) & LIBRARIES == libraries


@pytest.mark.parametrize(
    ("module", "library", "message"),
    [
        (
            "prometheus",
            "prometheus_client",
            r"prometheus-client, which is not installed: run pip install '\.\[prometheus\]'",
        ),
        ("opentelemetry", "opentelemetry", r"opentelemetry-api, .* run pip install '\.\[opentelemetry\]'"),
        ("tracing", "opentelemetry", r"opentelemetry-api, .* run pip install '\.\[opentelemetry\]'"),
    ],
)
def test_without_a_library_the_error_says_what_to_install(module: str, library: str, message: str) -> None:
    program = f"import sys; sys.modules[{library!r}] = None; import kafka_groups.telemetry.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(message, done.stderr)


def test_another_missing_module_is_not_blamed_on_the_extra() -> None:
    with pytest.raises(ModuleNotFoundError) as raised:
        importlib.import_module("kafka_groups.of_that_name_there_is_none")
    tell_missing(raised.value, "opentelemetry", "opentelemetry-api", "opentelemetry")  # raises nothing
