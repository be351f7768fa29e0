"""Groups as brokers describe them, in few words."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.admin import (
    GroupConfigValue,
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
    StreamsTopologyDescription,
)
from kafka_groups.admin.rules.plans.situation import GroupSituation
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TaskId, TopicPartition

PARTITIONS, START, END = 4, 100, 1_000
CHANGELOG = "app-counts-changelog"

Tasks = dict[str, frozenset[int]]


def tasks(*ids: str) -> Tasks:
    """Partition numbers by sub-topology."""
    found: dict[str, set[int]] = {}
    for id_ in map(TaskId.parse, ids):
        found.setdefault(id_.subtopology_id, set()).add(id_.partition)
    return {id_: frozenset(numbers) for id_, numbers in found.items()}


def offsets(given: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Offsets by sub-topology and partition number."""
    found: dict[str, dict[int, int]] = {}
    for id_, offset in given.items():
        task = TaskId.parse(id_)
        found.setdefault(task.subtopology_id, {})[task.partition] = offset
    return found


def member(
    member_id: str,
    process_id: str,
    active: Iterable[str] = (),
    standby: Iterable[str] = (),
    *,
    reported: Mapping[str, int] | None = None,
    **fields: Any,
) -> StreamsGroupMemberDescription:
    """A member that has its tasks, and has reported offsets of some."""
    assignment = StreamsGroupTasks(active=tasks(*active), standby=tasks(*standby))
    given = {
        "epoch": 3,
        "instance_id": None,
        "rack": None,
        "client_id": "c",
        "client_host": "/h",
        "user_endpoint": None,
        "client_tags": {},
        "topology_epoch": 0,
        "target_assignment": assignment,
        "task_end_offsets": offsets(dict.fromkeys(reported or (), END)),
        "is_classic": False,
        "assignment": assignment,
    }
    return StreamsGroupMemberDescription(
        member_id=member_id,
        process_id=process_id,
        task_offsets=offsets(reported or {}),
        **{**given, **fields},
    )


COUNTING = StreamsSubtopologyDescription(
    subtopology_id="0",
    source_topics=("in",),
    changelogs=(StreamsInternalTopic(name=CHANGELOG, partitions=PARTITIONS, replication_factor=1, configs={}),),
)
READING = StreamsSubtopologyDescription(subtopology_id="0", source_topics=("in",))


def situation(
    *members: StreamsGroupMemberDescription,
    subtopology: StreamsSubtopologyDescription = COUNTING,
    racks: Mapping[int, str] | None = None,
    configs: Mapping[str, str] | None = None,
    group: Mapping[str, Any] | None = None,
    **fields: Any,
) -> GroupSituation:
    """A group that is stable.

    Args:
        members: Its members.
        subtopology: All of its topology.
        racks: The rack of each partition of every topic.
        configs: Its configuration.
        group: Other fields of its description.
        fields: Other fields.
    """
    topics = [*subtopology.source_topics, *(each.name for each in subtopology.changelogs)]
    places = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
    logs = [place for place in places if place.topic == CHANGELOG]
    described = {
        "group_id": "app",
        "state": "Stable",
        "epoch": 3,
        "assignment_epoch": 3,
        "assignor": "sticky",
        "topology": StreamsTopologyDescription(0, (subtopology,)),
        "members": members,
    }
    known = {
        "starts": Results(dict.fromkeys(logs, START)),
        "ends": Results(dict.fromkeys(logs, END)),
        "configs": {name: GroupConfigValue(value, is_set=True) for name, value in (configs or {}).items()},
    }
    return GroupSituation(
        group=StreamsGroupDescription(**{**described, **(group or {})}),
        racks={place: frozenset({racks[place.partition]} if racks else ()) for place in places},
        **{**known, **fields},
    )
