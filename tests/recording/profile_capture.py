"""Captures what distinguishes the releases of Kafka: `python -m tests.recording.profile_capture` from the root.

It starts each release and asks it everything in `profile_questions`. With `--check` it stores nothing, and fails if an
answer differs from what is stored. Needs Java and Maven. Takes about two minutes.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_groups.config.cluster.broker import broker_keys
from kafka_groups.testing.kafka_jars import find_tool, kafka_jars, missing_tools
from kafka_groups.testing.kafka_process import SINGLE_NODE_PROPERTIES, KafkaProcess
from tests.recording.profile_questions import Answers, questions

DIRECTORY = Path(__file__).parent.parent / "golden" / "profiles"
RELEASES: Mapping[str, str] = {"4.2": "4.2.1", "4.3": "4.3.1", "4.4": "4.4.0"}
"""Profile → the release that it was captured from."""

SETTINGS: Mapping[str, str] = {
    "group.share.session.timeout.ms": "50000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
}
"""Settings of the captured brokers that are not Kafka's defaults, to see where groups take them from."""
_PROPERTIES: Mapping[str, str | None] = {
    **{name: None for name in SINGLE_NODE_PROPERTIES if name.startswith("group.")},
    **SETTINGS,
}
_HEAP = ("-Xmx768m",)
BOUNDS = "bounds of a broker's configs"
_BOUNDS_PRINTER = Path(__file__).parents[1] / "support" / "kafka" / "java" / "BrokerBounds.java"


def captured(profile: str) -> Answers:
    """What is stored of a profile."""
    answers: Answers = json.loads((DIRECTORY / f"{profile}.json").read_text(encoding="utf-8"))
    return answers


def capture(profile: str) -> Answers:
    """What the release answers now."""
    with KafkaProcess(RELEASES[profile], _PROPERTIES, java_options=_HEAP) as kafka:
        answers = questions(kafka.host, kafka.port, broker_keys=broker_keys())
    return {"broker": f"Apache Kafka {RELEASES[profile]}", **answers, BOUNDS: _bounds(RELEASES[profile])}


def _bounds(release: str) -> dict[str, str]:
    """The bounds of those configs of a broker that the embedded broker has, as Kafka writes them."""
    java = find_tool("java")
    assert java is not None
    command = [java, "-cp", f"{kafka_jars(release)}/*", str(_BOUNDS_PRINTER)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found = dict(line.split("\t") for line in printed.splitlines())
    return {name: bounds for name, bounds in found.items() if name in broker_keys()}


def differences(stored: Any, found: Any, path: str = "") -> Iterator[str]:
    """Describe each value that differs."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for name in sorted(stored.keys() | found.keys()):
            yield from differences(stored.get(name), found.get(name), f"{path} > {name}" if path else name)
    elif stored != found:
        yield f"{path}: {stored!r} is stored, {found!r} was found"


def _store(profile: str) -> None:
    DIRECTORY.mkdir(exist_ok=True)
    (DIRECTORY / f"{profile}.json").write_text(_text(capture(profile)), encoding="utf-8")


def _text(answers: Answers) -> str:
    """JSON with one line for each answer."""
    sections = (f'"{name}": {_section(found)}' for name, found in answers.items())
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _section(found: Any) -> str:
    if not isinstance(found, dict):
        return json.dumps(found)
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()) + "\n}"


def main(arguments: list[str]) -> int:
    """Capture all releases, or check what is stored."""
    if "--check" not in arguments:
        for profile in RELEASES:
            _store(profile)
        return 0
    missing = missing_tools()
    if missing is not None:
        sys.stdout.write(f"Skipped: {missing}.\n")
        return 0
    found = [f"{profile}: {text}" for profile in RELEASES for text in differences(captured(profile), capture(profile))]
    sys.stdout.write("".join(f"{line}\n" for line in found) or "No differences.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
