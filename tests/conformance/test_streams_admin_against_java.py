"""Streams groups as our admin client describes them, and as Kafka's own of 4.4.0 does."""

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.admin import (
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
)
from kafka_groups.assignment.group.group_assignor import OffsetsBySubtopology, TasksBySubtopology
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.types import TopicPartition
from tests.support.conditions import until
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.targets import Target, over_tcp

PATIENCE_S = 120
Java = Callable[[str, str], dict[str, Any]]
FULL = {
    "rack_id": "r",
    "user_endpoint": UserEndpoint(host="h", port=7),
    "client_tags": (KeyValue(key="zone", value="a"), KeyValue(key="cluster", value="b")),
}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Java:
    """Kafka's own admin client: takes a group, returns its description."""
    classpath, directory = kafka_classpath(libs_or_skip()), tmp_path_factory.mktemp("classes")
    source = Path(__file__).parents[1] / "support" / "kafka" / "java" / "StreamsGroupReading.java"
    _run(["javac", "-cp", classpath, "-d", str(directory), str(source)])

    def describe(bootstrap_servers: str, group_id: str) -> dict[str, Any]:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{classpath}", "StreamsGroupReading"]
        described: dict[str, Any] = json.loads(_run([*command, bootstrap_servers], f"{group_id}\n"))
        return described

    return describe


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@over_tcp
async def test_a_group_is_described_as_by_java(target: Target, java: Java) -> None:
    topic = await target.cluster.create_topic(3)
    group_id = unique("app")
    await target.cluster.coordinator_of(group_id)
    at_once = {"streams.num.standby.replicas": "1", "streams.assignment.interval.ms": "0"}
    await target.cluster.set_group_config(group_id, at_once)
    words, counts = f"{group_id}-words-repartition", f"{group_id}-counts-changelog"
    configs = {"cleanup.policy": "compact", "segment.bytes": "1048576"}
    topology = sent(
        subtopology("0", sources=(topic.name,), sinks=(words,)),
        subtopology("1", repartitions=(internal(words, 2),), changelogs=(internal(counts, configs=configs),)),
    )
    first = StreamsMember(target.client(), group_id, "member-1", "i")
    beat = await first.join(topology, **FULL)
    while not beat.active:
        beat = await until(first.beat, lambda it: it.active is not None)
    await first.beat(owned=beat.active)
    offset = TaskOffset(subtopology_id="1", partition=1, offset=5)
    await first.beat(task_offsets=(offset,), task_end_offsets=(evolve(offset, offset=7),))
    assert await first.commit(topic.name, 0, offset=0) == "NONE"
    second = StreamsMember(target.client(), group_id, "member-2")
    await until(lambda: second.join(topology), lambda it: it.error == "NONE")

    async with target.admin() as admin:
        group = (await admin.describe_streams_groups([group_id]))[group_id]
        offsets = (await admin.describe_streams_group_offsets([group_id]))[group_id]
    assert (group.state, len(group.members)) == ("Reconciling", 2)
    assert any(member.target_assignment != member.assignment for member in group.members)
    committed = {str(key): each.offset for key, each in offsets.values.items() if each.offset is not None}
    assert committed == {str(TopicPartition(topic.name, 0)): 0}
    assert {**shown(group), "offsets": committed} == java(target.bootstrap_servers, group_id)


def shown(group: StreamsGroupDescription) -> dict[str, Any]:
    """A description as the Java program shows it."""
    assert group.topology is not None
    return {
        "group_id": group.group_id,
        "state": group.state,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor": group.assignor,
        "topology_epoch": group.topology.epoch,
        "subtopologies": [_subtopology(each) for each in group.topology.subtopologies],
        "members": [_member(each) for each in group.members],
    }


def _subtopology(each: StreamsSubtopologyDescription) -> dict[str, Any]:
    return {
        "subtopology_id": each.subtopology_id,
        "source_topics": list(each.source_topics),
        "repartition_sinks": list(each.repartition_sinks),
        "repartition_sources": _topics(each.repartition_sources),
        "changelogs": _topics(each.changelogs),
    }


def _topics(topics: Iterable[StreamsInternalTopic]) -> dict[str, Any]:
    return {each.name: [each.partitions, dict(each.configs)] for each in topics}


def _member(each: StreamsGroupMemberDescription) -> dict[str, Any]:
    return {
        "member_id": each.member_id,
        "epoch": each.epoch,
        "process_id": each.process_id,
        "instance_id": each.instance_id,
        "rack": each.rack,
        "client_id": each.client_id,
        "client_host": each.client_host,
        "user_endpoint": None if each.user_endpoint is None else list(each.user_endpoint),
        "client_tags": dict(each.client_tags),
        "topology_epoch": each.topology_epoch,
        "assignment": _tasks(each.assignment),
        "target_assignment": _tasks(each.target_assignment),
        "task_offsets": _sums(each.task_offsets),
        "task_end_offsets": _sums(each.task_end_offsets),
        "is_classic": each.is_classic,
    }


def _tasks(tasks: StreamsGroupTasks) -> list[list[str]]:
    return [_ids(tasks.active), _ids(tasks.standby), _ids(tasks.warmup)]


def _ids(tasks: TasksBySubtopology) -> list[str]:
    return sorted(f"{subtopology_id}_{number}" for subtopology_id, numbers in tasks.items() for number in numbers)


def _sums(offsets: OffsetsBySubtopology) -> Mapping[str, int]:
    return {f"{name}_{number}": offset for name, some in offsets.items() for number, offset in some.items()}
