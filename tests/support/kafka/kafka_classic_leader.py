"""The leader of Kafka Streams, run on our groups by a small Java program without brokers.

A question is a line of JSON, and so is its answer:

    application     the application id
    process         the process of the leader
    nowMs           the time, which stands still
    configs         {lag, warmups, standbys, probingMs, tags, strategy, traffic, nonOverlap}; costs may be null
    assignor        the assignor: "default", "sticky", "legacy", or "dealing", which makes a mistake if there is one
    mistake         one of dealing_assignor.py, or ""
    subtopologies   [{sources, repartition: [{name, partitions}], sinks, stores, sourceChangelogs, copartition}], in the
                    order of their numbers; partitions may be null. Changelogs are named after stores, or are sources
    topics          {topic: partitions}, those that exist
    racks           {node id: rack or null}
    replicas        {topic: [[node id]]}; what is not named has one replica, in the first broker
    ends            {topic: [end]}, of changelogs that exist
    committed       {topic: [offset or null]}, of source topics that are changelogs
    failsOffsets    whether the ends of changelogs cannot be found
    members         {member id: subscription in base64}
    instances       {member id: instance id}

The answer is {assignments: {member id: assignment in base64}, created: {topic: partitions}} or {exception, at}, and
"future", the process of all members with user data of a later version, which differs in each run of Java. The assignor
"dealing" adds "heard", the arguments of its callback: {error, assignments: {member id: base64}, subscriptions: {member
id: {subscription in base64, instance}}}.
"""

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import Subtopology
from kafka_groups.assignment import ProcessId
from tests.support.assignors.leader_cases import APPLICATION, LeaderCase
from tests.support.kafka.java_program import LineProgram
from tests.support.kafka.kafka_application_assignor import JavaExceptionError

__all__ = ["KafkaClassicLeader", "KafkaRound"]

_JAVA: Final = Path(__file__).parent / "java"
_SOURCES: Final = (_JAVA / "ClassicLeaderDriver.java", _JAVA / "DealingAssignor.java")
_MAIN: Final = "org.apache.kafka.streams.processor.internals.ClassicLeaderDriver"
_COMPILING_S: Final = 120
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
_CHANGELOG: Final = "-changelog"


@frozen
class KafkaRound:
    """The result of a round that Java has led.

    Attributes:
        assignments: The assignments by member id.
        created: The topics that were created, with their numbers of partitions.
        exception: What it has thrown instead; nothing if it has not.
        heard: The arguments of the assignor's callback, or None.
    """

    assignments: Mapping[str, bytes]
    created: Mapping[str, int]
    exception: str = ""
    heard: "KafkaCallback | None" = None


@frozen
class KafkaCallback:
    """The arguments of an assignor's callback.

    Attributes:
        error: The name of the error.
        assignments: The assignments by member id.
        subscriptions: The subscriptions by member id.
        instances: The instance ids by member id.
    """

    error: str
    assignments: Mapping[str, bytes]
    subscriptions: Mapping[str, bytes]
    instances: Mapping[str, str | None]


class KafkaClassicLeader(LineProgram):
    """Kafka's leader. Use it as a context manager.

    Args:
        directory: Where the compiled program goes.
        classpath: Kafka Streams and what it needs, such as `streams_classpath` returns.
    """

    def __init__(self, directory: Path, classpath: str) -> None:
        command = ["javac", "-cp", classpath, "-d", str(directory), *map(str, _SOURCES)]
        subprocess.run(command, check=True, timeout=_COMPILING_S)
        super().__init__(["java", "-ea", _QUIET, "-cp", f"{directory}:{classpath}", _MAIN])

    def future_process(self, case: LeaderCase) -> ProcessId:
        """Return the process of members whose user data is of a later version."""
        return ProcessId(self._answer(case)["future"])

    def lead(self, case: LeaderCase) -> KafkaRound:
        """Lead a round.

        Raises:
            JavaExceptionError: The leader threw an exception, and its thread would have ended.
        """
        found = self.try_to_lead(case)
        if found.exception:
            raise JavaExceptionError(found.exception)
        return found

    def try_to_lead(self, case: LeaderCase) -> KafkaRound:
        """Lead a round, or return the exception."""
        answer = self._answer(case)
        failed = f"{answer['exception']} {answer['at']}" if "exception" in answer else ""
        told = answer.get("heard")
        heard = None if told is None else _callback(told)
        return KafkaRound({} if failed else _decoded(answer["assignments"]), answer.get("created", {}), failed, heard)

    def _answer(self, case: LeaderCase) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask_line(json.dumps(_question(case))))
        return answer


def _decoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {member_id: base64.b64decode(text) for member_id, text in texts.items()}


def _callback(told: Mapping[str, Any]) -> KafkaCallback:
    subscriptions = told["subscriptions"]
    return KafkaCallback(
        told["error"],
        _decoded(told["assignments"]),
        _decoded({member_id: each["subscription"] for member_id, each in subscriptions.items()}),
        {member_id: each["instance"] for member_id, each in subscriptions.items()},
    )


def _replicas(case: LeaderCase) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for partition in sorted(case.replicas):
        found.setdefault(partition.topic, []).append(list(case.replicas[partition]))
    return found


def _question(case: LeaderCase) -> dict[str, Any]:
    return {
        "application": APPLICATION,
        "process": str(case.members[0].process_id),
        "nowMs": case.now_ms,
        "configs": {
            "lag": case.configs.acceptable_recovery_lag,
            "warmups": case.configs.max_warmup_replicas,
            "standbys": case.configs.num_standby_replicas,
            "probingMs": case.configs.probing_rebalance_interval_ms,
            "tags": case.configs.rack_aware_assignment_tags,
            "strategy": case.configs.rack_aware_assignment_strategy.value,
            "traffic": case.configs.rack_aware_traffic_cost,
            "nonOverlap": case.configs.rack_aware_non_overlap_cost,
        },
        "assignor": case.assignor or "default",
        "mistake": case.mistake,
        "subtopologies": [_subtopology(each) for each in case.topology.subtopologies],
        "topics": case.counts,
        "racks": case.racks,
        "replicas": _replicas(case),
        "ends": case.ends,
        "committed": case.committed,
        "failsOffsets": case.fails_offsets,
        "instances": case.round.instance_ids,
        "members": {id_: base64.b64encode(data).decode() for id_, data in case.subscriptions.items()},
    }


def _subtopology(each: Subtopology) -> dict[str, Any]:
    changelogs = [topic.name for topic in each.changelogs]
    return {
        "sources": each.source_topics,
        "repartition": [{"name": topic.name, "partitions": topic.partitions} for topic in each.repartition_sources],
        "sinks": each.repartition_sinks,
        "stores": [
            name.removeprefix(f"{APPLICATION}-").removesuffix(_CHANGELOG)
            for name in changelogs
            if name not in each.source_topics
        ],
        "sourceChangelogs": [name for name in changelogs if name in each.source_topics],
        "copartition": [sorted(group) for group in each.copartition_groups],
    }
