"""Groups of streams applications as lines of text."""

from collections.abc import Iterable, Iterator, Mapping

from kafka_groups.admin import (
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsSubtopologyDescription,
)
from kafka_groups.cli.admin.streams_groups.classic_group_lines import classic_group_lines
from kafka_groups.cli.admin.streams_groups.description_entries import StreamsDescription

__all__ = ["streams_group_lines"]


def streams_group_lines(group: StreamsDescription) -> Iterator[str]:
    """Return the lines of a group: its state, its sub-topologies and its members."""
    return _described(group) if isinstance(group, StreamsGroupDescription) else classic_group_lines(group)


def _described(group: StreamsGroupDescription) -> Iterator[str]:
    lag = "unknown" if group.total_lag is None else group.total_lag
    epochs = f"epoch={group.epoch} assignment-epoch={group.assignment_epoch}"
    assignor = "" if group.assignor is None else f" assignor={group.assignor}"
    yield f"{group.group_id} {group.state} lag={lag} members={len(group.members)} {epochs}{assignor}"
    for subtopology in () if group.topology is None else group.topology.subtopologies:
        yield from _subtopology(subtopology)
    for member in group.members:
        yield from _member(member)


def _subtopology(subtopology: StreamsSubtopologyDescription) -> Iterator[str]:
    yield f"  sub-topology {subtopology.subtopology_id}"
    topics: Mapping[str, Iterable[str]] = {
        "sources": subtopology.source_topics,
        "repartition sources": [_sized(topic.name, topic.partitions) for topic in subtopology.repartition_sources],
        "repartition sinks": subtopology.repartition_sinks,
        "changelogs": [_sized(topic.name, topic.partitions) for topic in subtopology.changelogs],
    }
    for role, names in topics.items():
        if names:
            yield f"    {role}: {', '.join(names)}"


def _sized(name: str, partitions: int | None) -> str:
    return name if partitions is None else f"{name} ({partitions})"


def _member(member: StreamsGroupMemberDescription) -> Iterator[str]:
    optional = {
        "instance": member.instance_id,
        "rack": member.rack,
        "endpoint": None if member.user_endpoint is None else "{}:{}".format(*member.user_endpoint),
        "tags": ",".join(f"{key}={value}" for key, value in member.client_tags.items()) or None,
        "protocol": "classic" if member.is_classic else None,
    }
    shown = [f" {name}={value}" for name, value in optional.items() if value is not None]
    head = f"  {member.member_id} {member.client_id} {member.client_host}"
    yield f"{head} epoch={member.epoch} process={member.process_id}{''.join(shown)}"
    yield f"    {_tasks(member.assignment)}"
    lags = " ".join(f"{task}={lag}" for task, lag in sorted(member.task_lags.items()))
    if lags:
        yield f"    changelog lag: {lags}"
    if member.target_assignment != member.assignment:
        yield f"    target: {_tasks(member.target_assignment)}"


def _tasks(tasks: StreamsGroupTasks) -> str:
    roles = {"active": tasks.active, "standby": tasks.standby, "warm-up": tasks.warmup}
    shown = {
        role: " ".join(f"{subtopology}_{number}" for subtopology in sorted(ids) for number in sorted(ids[subtopology]))
        for role, ids in roles.items()
    }
    return "; ".join(f"{role} {ids}" for role, ids in shown.items() if ids) or "no tasks"
