"""Kafka's own command-line tools of 4.3.1: they print the same on the embedded broker as on Kafka 4.4."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pytest
from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.config.cluster.broker import broker_keys
from kafka_groups.config.cluster.groups import group_keys
from kafka_groups.config.cluster.topic import topic_keys
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.kafka.kafka_tools import KafkaTools, ToolRun
from tests.support.kafka.reset_scenes import APPLICATION_RESET
from tests.support.kafka.tool_scenes import SCENES, SERVER, Stage, Step
from tests.support.targets import EMBEDDED_PROPERTIES

SETTINGS = {"group.share.heartbeat.interval.ms": "500", "group.share.assignment.interval.ms": "0"}
ALL_SCENES = {**SCENES, "applications of Kafka Streams": APPLICATION_RESET}

MOST_TRIES = 5

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kafka(real_kafka: KafkaProcess) -> Iterator[str]:
    """A Kafka of its own, as its features change."""
    with KafkaProcess(real_kafka.version, SETTINGS) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture(scope="module")
def embedded() -> Iterator[str]:
    with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, **SETTINGS}) as cluster:
        yield cluster.bootstrap_servers


@pytest.mark.parametrize("name", ALL_SCENES)
def test_a_scene_is_the_same_on_both_brokers(name: str, embedded: str, kafka: str, kafka_tools: KafkaTools) -> None:
    on_embedded = list(played(ALL_SCENES[name], embedded, kafka_tools))
    on_kafka = list(played(ALL_SCENES[name], kafka, kafka_tools, on_embedded))
    different = [str(pair) for pair in zip(on_embedded, on_kafka, strict=True) if pair[0] != pair[1]]
    assert not different, "\n".join(different)


# ------------------------------------------------------------------------------------------ what is compared


@frozen
class Seen:
    """A command, its exit status, and what it printed."""

    command: str
    status: int
    lines: tuple[str, ...]


def played(steps: Iterable[Step], server: str, tools: KafkaTools, expected: Sequence[Seen] = ()) -> Iterator[Seen]:
    stage, others = Stage(server), iter(expected)
    with stage.clients:
        for step in steps:
            if callable(step):
                step(stage)
            else:
                yield asked(step, server, tools, next(others, None))


def asked(step: str, server: str, tools: KafkaTools, expected: Seen | None) -> Seen:
    """What a command prints. A question is asked again while something else is expected: Kafka changes things later."""
    seen, tries = compared(step, run(step, server, tools), server), 1
    while "--describe" in step and expected not in (None, seen) and tries < MOST_TRIES:
        seen, tries = compared(step, run(step, server, tools), server), tries + 1
    return seen


def run(command: str, server: str, tools: KafkaTools) -> ToolRun:
    line, _, given = command.partition(" <<< ")
    tool, *arguments = shlex.split(line)
    named = [] if SERVER in line else ["--bootstrap-server", server]
    return tools.run(tool, *named, *(word.replace(SERVER, server) for word in arguments), given=given)


def compared(command: str, done: ToolRun, server: str) -> Seen:
    lines = [line for line in f"{done.out}\n{done.err}".splitlines() if line.strip() and not line.startswith("\t")]
    if "verifiable" in command:
        return Seen(command, done.status, tuple(events(lines)))
    plain = (normalised(line.replace(server, "SERVER")) for line in lines)
    if "perf-test" in command:
        plain = (re.sub(r"[\d.]+", "N", line) for line in plain)
    return Seen(command, done.status, tuple(sorted(line for line in plain if not is_unsupported(command, line))))


def events(lines: Iterable[str]) -> list[str]:
    """How often each event occurred, or how many records it told of."""
    counts: Counter[str] = Counter()
    for event in map(json.loads, lines):
        counts[event["name"]] += event.get("count", 0) or event["name"] == "producer_send_success"
    return sorted(f"{name}: {count}" for name, count in counts.items())


def normalised(line: str) -> str:
    for pattern, shown in NORMALISED.items():
        line = re.sub(pattern, shown, line)
    head, configs, listed = line.partition("Configs: ")
    settings = sorted(each for each in listed.rstrip().split(",") if not each.startswith("min.insync.replicas"))
    return f"{head}{configs}{','.join(settings)}".rstrip()


NORMALISED = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UUID",
    r"(?<![\w/+-])[\w/+-]{22}(?![\w/+-])": "ID",
    r"console-consumer-\d+": "console-consumer-N",
    r"CreateTime:\d+": "CreateTime:T",
    r"Epoch: \d+": "Epoch: N",
    r"(common\.errors\.\w+): .*": r"\1",  # texts differ
    r"(Valid states are): .*": r"\1",  # in any order
    r"\('[\w, ']+'\)": "(groups)",  # in any order
    r"( registered) or some brokers have all their log directories cordoned": r"\1",
    r"\s+": " ",
}
"""What differs from run to run, and what is allowed to differ."""

_CONFIG = re.compile(r" ([\w.]+)=.* sensitive=")
_NOT_ALIKE = {"min.insync.replicas", "group.share.initialize.retry.interval.ms"}  # see the limitations
_KEYS = {"topics": topic_keys(), "brokers": broker_keys(), "groups": group_keys()}


def is_unsupported(command: str, line: str) -> bool:
    """Whether a line is about a config that the embedded broker does not have, or shows in another way."""
    config = _CONFIG.match(line)
    kind = next((kind for kind in _KEYS if f"--entity-type {kind}" in command), None)
    return config is not None and kind is not None and config[1] not in _KEYS[kind].keys() - _NOT_ALIKE
