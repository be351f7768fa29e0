"""Kafka's own assignors of consumer groups, run on our inputs by a small Java program."""

import base64
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

from kafka_groups.broker.coordinators.groups.assignors.group_spec import PartitionsByTopic
from kafka_groups.types import uuid_text
from tests.support.assignors.group_assignor_cases import GroupAssignment, GroupCase
from tests.support.kafka.kafka_classpath import kafka_classpath

_SOURCE = Path(__file__).parent / "java" / "GroupAssignorDriver.java"
_MAIN_CLASS = "GroupAssignorDriver"
_TIMEOUT_S = 120


class KafkaGroupAssignor:
    """Compiles the program once; every `assign` is one run of it for any number of cases.

    Args:
        directory: Where the compiled class goes.
        jars: The directory with Kafka's jars.
    """

    def __init__(self, directory: Path, jars: Path) -> None:
        self._classpath = f"{directory}:{kafka_classpath(jars)}"
        _run(["javac", "-cp", kafka_classpath(jars), "-d", str(directory), str(_SOURCE)])

    def assign(self, name: str, cases: Iterable[GroupCase]) -> list[GroupAssignment]:
        """What Kafka's assignor of that name assigns in each case."""
        lines = "".join(f"{line}\n" for case in cases for line in _written(name, case))
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", self._classpath, _MAIN_CLASS]
        return list(_read(_run(command, lines).splitlines()))


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr}"
    return done.stdout


def _written(assignor: str, case: GroupCase) -> Iterator[str]:
    for name, topic in case.topics.items():
        yield f"topic {name} {uuid_text(topic.topic_id)} {topic.partitions}"
    for member_id, member in case.members.items():
        names = ",".join(sorted(member.names))
        yield f"member {member_id} {member.instance_id or '-'} {names or '-'} {_owned(member.assigned) or '-'}"
    yield f"assign {assignor}"


def _owned(assigned: PartitionsByTopic) -> str:
    return ",".join(f"{uuid_text(id_)}:{'.'.join(map(str, numbers))}" for id_, numbers in assigned.items())


def _read(lines: Iterable[str]) -> Iterator[GroupAssignment]:
    assignment: GroupAssignment = {}
    for line in lines:
        if line == "end":
            yield assignment
            assignment = {}
        else:
            kind, member_id, owned = line.split(" ", 2)
            assert kind == "member", line
            assignment[member_id] = dict(map(_topic, owned.split(","))) if owned != "-" else {}


def _topic(word: str) -> tuple[UUID, tuple[int, ...]]:
    topic_id, _, numbers = word.partition(":")
    return UUID(bytes=base64.urlsafe_b64decode(f"{topic_id}==")), tuple(map(int, numbers.split(".")))
