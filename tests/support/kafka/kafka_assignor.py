"""Kafka's own share assignor, run on our inputs by a small Java program."""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

from kafka_groups.types import TopicIdPartition
from tests.support.assignors.assignor_cases import Assignment, Case
from tests.support.kafka.kafka_classpath import kafka_classpath

_SOURCE = Path(__file__).parent / "java" / "SimpleAssignorDriver.java"
_MAIN_CLASS = "SimpleAssignorDriver"
_TIMEOUT_S = 120


class KafkaAssignor:
    """Compiles the program once; every `assign` is one run of it for any number of cases.

    Args:
        directory: Where the compiled class goes.
        jars: The directory with Kafka's jars.
    """

    def __init__(self, directory: Path, jars: Path) -> None:
        self._classpath = f"{directory}:{kafka_classpath(jars)}"
        _run(["javac", "-cp", kafka_classpath(jars), "-d", str(directory), str(_SOURCE)])

    def assign(self, cases: Iterable[Case]) -> list[Assignment]:
        """What Kafka assigns in each case."""
        lines = "".join(f"{line}\n" for case in cases for line in _written(case))
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", self._classpath, _MAIN_CLASS]
        return list(_read(_run(command, lines).splitlines()))


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr}"
    return done.stdout


def _written(case: Case) -> Iterator[str]:
    for topic_id, count in case.topics.items():
        yield f"topic {topic_id.int} {count}"
    for member, spec in case.members.items():
        topics = ",".join(str(topic_id.int) for topic_id in spec.topic_ids)
        owned = ",".join(f"{p.topic_id.int}:{p.partition}" for p in spec.owned)
        yield f"member {member} {topics or '-'} {owned or '-'}"
    yield "end"


def _read(lines: Iterable[str]) -> Iterator[Assignment]:
    assignment: dict[str, frozenset[TopicIdPartition]] = {}
    for line in lines:
        if line == "end":
            yield assignment
            assignment = {}
        else:
            _, member, owned = line.split(" ")
            assignment[member] = frozenset(map(_partition, owned.split(","))) if owned != "-" else frozenset()


def _partition(word: str) -> TopicIdPartition:
    topic, _, number = word.partition(":")
    return TopicIdPartition(UUID(int=int(topic)), int(number))
