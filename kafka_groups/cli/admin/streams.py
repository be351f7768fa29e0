"""Commands about streams groups: list, describe, configure and delete them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from kafka_groups.admin import (
    KafkaAdmin,
    Results,
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsSubtopologyDescription,
)
from kafka_groups.cli.admin.classic_group_lines import classic_group_lines
from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting, report, report_states
from kafka_groups.cli.admin.description_documents import Description, descriptions_document
from kafka_groups.cli.admin.topology_option import topology_option
from kafka_groups.cli.choices import choosing_states
from kafka_groups.cli.output import say
from kafka_groups.errors import GroupIdNotFoundError, KafkaGroupsError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafka_groups.streams import Topology

__all__ = ["delete", "describe", "list_groups"]

_STATES = ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead")


@click.command("list")
@choosing_states(*_STATES)
@connecting
def list_groups(connection: BrokerChoice, states: tuple[str, ...]) -> None:
    """Print each streams group and its state.

    The exit status is 1 if a broker did not list its groups.
    """
    with connected(connection) as admin:
        listed = admin.list_streams_groups(states=states)
    report_states({group.group_id: group.state for group in listed.groups}, listed.errors)


# ------------------------------------------------------------------------------------------------ describe


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@connecting
def describe(connection: BrokerChoice, group_ids: tuple[str, ...], *, as_json: bool) -> None:
    """Print the state, lag, topology and members of streams groups, or of applications with group.protocol=classic.

    The tasks of a member are those that it has. If it will have others, they are printed after "target". The changelog
    lag of a task is the number of records that its stores do not have yet; members report it from time to time.

    Of a classic group, the members are printed by process, as they were when they joined the last round, with the tasks
    that the leader then gave them. Brokers do not tell which member leads.

    The exit status is 1 if a group could not be described.
    """
    with connected(connection) as admin:
        found = _descriptions(admin, group_ids)
    if as_json:
        say(json.dumps(descriptions_document(found), indent=2, ensure_ascii=False))
        found = Results({}, found.errors)
    report(found, lambda _group_id, group: "\n".join(_lines(group)))


def _descriptions(admin: KafkaAdmin, group_ids: tuple[str, ...]) -> Results[str, Description]:
    """Return descriptions of streams groups, and of classic groups where there is no streams group of that name."""
    streams = admin.describe_streams_groups(group_ids)
    # Brokers before Kafka 4.2 do not have streams groups, and refuse the question.
    refused = (GroupIdNotFoundError, UnsupportedVersionError)
    missing = [group_id for group_id, error in streams.errors.items() if isinstance(error, refused)]
    classic = admin.describe_classic_streams_groups(missing) if missing else Results[str, Description]()
    values = {**streams.values, **classic.values}
    errors = {**streams.errors, **classic.errors}
    wanted = dict.fromkeys(group_ids)
    return Results(
        {group_id: values[group_id] for group_id in wanted if group_id in values},
        {group_id: errors[group_id] for group_id in wanted if group_id not in values},
    )


def _lines(group: Description) -> Iterator[str]:
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


# -------------------------------------------------------------------------------------------------- delete


@click.command()
@click.argument("group_ids", metavar="GROUP...", nargs=-1, required=True)
@click.option(
    "--delete-all-internal-topics", is_flag=True, help="Delete their changelogs and repartition topics first."
)
@topology_option
@connecting
def delete(
    connection: BrokerChoice,
    group_ids: tuple[str, ...],
    topology: "Topology | None",
    *,
    delete_all_internal_topics: bool,
) -> None:
    """Delete streams groups that have no members, and their committed offsets.

    With --topology, delete classic groups of that application.

    A group whose internal topics were to be deleted, but could not be, stays.

    The exit status is 1 if a group or a topic was not deleted.
    """
    with connected(connection) as admin:
        topics = _without_topics(admin, group_ids, topology) if delete_all_internal_topics else {}
        ready = [group_id for group_id in group_ids if group_id not in topics or not topics[group_id].errors]
        deleted = admin.delete_streams_groups(ready, topology=topology) if ready else Results[str, None]()
    gone = {name: None for results in topics.values() for name in results.values}
    errors = [(name, error) for results in topics.values() for name, error in results.errors.items()]
    report(Results({**gone, **deleted.values}, deleted.errors), lambda name, _none: f"{name}: deleted", errors)


def _without_topics(
    admin: KafkaAdmin, group_ids: Iterable[str], topology: "Topology | None"
) -> dict[str, Results[str, None]]:
    results: dict[str, Results[str, None]] = {}
    for group_id in group_ids:
        try:
            results[group_id] = admin.delete_streams_group_internal_topics(group_id, topology=topology)
        except KafkaGroupsError as error:
            results[group_id] = Results({}, {group_id: error})
    return results
