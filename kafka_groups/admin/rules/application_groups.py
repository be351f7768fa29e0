"""The group of an application, whose offsets and internal topics are administered, of either type.

A streams group keeps the topology of its application. For a classic group, the caller brings it. Without members, such
a group does not even tell its protocol, so it is only changed if it can be the group of that topology.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.classic_streams.classic_groups import EMPTY, shown_classic_groups
from kafka_groups.admin.rules.group_offsets import FetchedOffsets, fetch_all_question
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology, topology_of_group
from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.groups import is_listed
from kafka_groups.admin.rules.streams_descriptions import described_streams_groups
from kafka_groups.admin.rules.streams_values import StreamsGroupDescription
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.client.events import listed
from kafka_groups.errors import (
    ConfigurationError,
    GroupIdNotFoundError,
    KafkaGroupsError,
    NonEmptyGroupError,
    UnsupportedVersionError,
)

__all__ = [
    "ApplicationGroup",
    "application_groups",
    "changeable_group",
    "fitting_groups",
    "group_or_forgotten",
    "internal_topics_of",
    "not_empty",
]

_STREAMS: Final = "streams group"
_CLASSIC: Final = "classic group"


@frozen(kw_only=True)
class ApplicationGroup:
    """A group, and the topics of its application.

    Attributes:
        group_id: The group.
        kind: `streams group` or `classic group`.
        state: Its state.
        has_members: Whether it has members.
        input_topics: Names of the topics that the application reads and does not own, sorted.
        read_topics: Names of all topics that it reads, sorted.
        internal_topics: Names of its changelogs and repartition topics, sorted.
    """

    group_id: str
    kind: str
    state: str
    has_members: bool
    input_topics: tuple[str, ...]
    read_topics: tuple[str, ...]
    internal_topics: tuple[str, ...]

    @property
    def is_streams_group(self) -> bool:
        """True if the brokers keep the topology."""
        return self.kind == _STREAMS


async def application_groups(
    ask: Asking, group_ids: Iterable[str], topology: GivenTopology | None
) -> Results[str, ApplicationGroup]:
    """Ask the coordinators for groups of applications.

    Args:
        ask: Asks the brokers.
        group_ids: The groups.
        topology: The topology of classic groups; None for streams groups, which have their own.

    Returns:
        A group or an error for each id, such as `GroupIdNotFoundError` if it is of the other type.

    Raises:
        ConfigurationError: The topology is not one.
    """
    if topology is None:
        return await _streams_groups(ask, group_ids)
    topologies = {group_id: await topology_of_group(ask, topology, group_id) for group_id in group_ids}
    return await _classic_groups(ask, topologies)


async def changeable_group(ask: Asking, group_id: str, topology: GivenTopology | None) -> ApplicationGroup:
    """Return a group that has no members.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topology: The topology of a classic group; None for a streams group, which has its own.

    Raises:
        NonEmptyGroupError: The group has members.
        ConfigurationError: The topology is not one, or cannot be that of the group.
        KafkaGroupsError: The coordinator refused the group.
    """
    group = (await application_groups(ask, [group_id], topology))[group_id]
    if group.has_members:
        raise not_empty(group, f"it is {group.state}")
    return (await fitting_groups(ask, Results({group_id: group})))[group_id]


def not_empty(group: ApplicationGroup, why: str) -> NonEmptyGroupError:
    """Return the error of a group that has members."""
    text = f"The {group.kind} {group.group_id} has members ({why}). Stop its application first."
    return NonEmptyGroupError(text)


# --------------------------------------------------------------------------------------------- streams groups


async def _streams_groups(ask: Asking, group_ids: Iterable[str]) -> Results[str, ApplicationGroup]:
    described = await described_streams_groups(ask, group_ids)
    errors = {**described.errors, **await _advice(ask, described.errors)}
    return Results({group_id: _of_streams_group(group) for group_id, group in described.values.items()}, errors)


def _of_streams_group(group: StreamsGroupDescription) -> ApplicationGroup:
    return ApplicationGroup(
        group_id=group.group_id,
        kind=_STREAMS,
        state=group.state,
        has_members=group.has_members,
        input_topics=group.input_topics,
        read_topics=group.read_topics,
        internal_topics=group.internal_topics,
    )


async def _advice(ask: Asking, errors: Mapping[str, KafkaGroupsError]) -> dict[str, KafkaGroupsError]:
    """Return better errors of groups that are classic ones."""
    missing = _missing(errors)
    classic = (await shown_classic_groups(ask, missing)).values if missing else {}
    return {group_id: _needs_topology(group_id, group.group_state) for group_id, group in classic.items()}


def _missing(errors: Mapping[str, KafkaGroupsError]) -> list[str]:
    """Return groups that do not exist, or are of another type than the one that was asked for."""
    # Brokers before Kafka 4.2 do not have streams groups, and refuse the question.
    refused = (GroupIdNotFoundError, UnsupportedVersionError)
    return [group_id for group_id, error in errors.items() if isinstance(error, refused)]


def _needs_topology(group_id: str, state: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"The group {group_id} is a classic group ({state}). Brokers do not keep the topology of a classic group: give "
        "that of its application, with topology=, or --topology MODULE:FUNCTION."
    )


# --------------------------------------------------------------------------------------------- classic groups


async def _classic_groups(ask: Asking, topologies: Mapping[str, GroupTopology]) -> Results[str, ApplicationGroup]:
    shown = await shown_classic_groups(ask, topologies)
    groups = {key: _of_classic_group(key, each.group_state, topologies[key]) for key, each in shown.values.items()}
    missing = _missing(shown.errors)
    streams = (await described_streams_groups(ask, missing)).values if missing else {}
    return Results(groups, {**shown.errors, **{group_id: _has_topology(group_id) for group_id in streams}})


def _has_topology(group_id: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"The group {group_id} is a streams group and not a classic group. Brokers keep its topology: leave topology "
        "out."
    )


async def group_or_forgotten(ask: Asking, group_id: str, topology: GivenTopology | None) -> ApplicationGroup:
    """Return a group that has no members, or a classic one that brokers have forgotten, but not its topics.

    Brokers forget a classic group when the last of its committed offsets has expired.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        topology: The topology of a classic group; None for a streams group, which has its own.

    Raises:
        NonEmptyGroupError: The group has members.
        ConfigurationError: The topology is not one, or cannot be that of the group.
        KafkaGroupsError: The coordinator refused the group.
    """
    try:
        return await changeable_group(ask, group_id, topology)
    except GroupIdNotFoundError:
        if topology is None or await is_listed(ask, group_id):
            raise
        return _of_classic_group(group_id, EMPTY, await topology_of_group(ask, topology, group_id))


def _of_classic_group(group_id: str, state: str, topology: GroupTopology) -> ApplicationGroup:
    parts = topology.subtopologies
    return ApplicationGroup(
        group_id=group_id,
        kind=_CLASSIC,
        state=state,
        has_members=state != EMPTY,
        input_topics=tuple(sorted(topology.source_topics)),
        read_topics=tuple(sorted({name for each in parts for name in each.read_topics})),
        internal_topics=internal_topics_of(topology, group_id),
    )


def internal_topics_of(topology: GroupTopology, group_id: str) -> tuple[str, ...]:
    """Return the names of changelogs and repartition topics that belong to a group alone, sorted.

    These are the ones whose name begins with the group's id and a hyphen, as Kafka Streams names them.
    """
    parts = topology.subtopologies
    changelogs = {topic.name for each in parts for topic in each.changelogs}
    names = changelogs | {topic.name for each in parts for topic in each.repartition_sources}
    return tuple(sorted(name for name in names - topology.source_topics if name.startswith(f"{group_id}-")))


async def fitting_groups(ask: Asking, groups: Results[str, ApplicationGroup]) -> Results[str, ApplicationGroup]:
    """Return groups that can be those of their topologies, and errors of others.

    Of a classic group without members, brokers only tell the committed offsets. If they are all of other topics than
    the topology reads, the group or the topology is probably a wrong one.
    """
    classic = [key for key, group in groups.values.items() if not group.is_streams_group]
    committed = await ask(fetch_all_question(classic)) if classic else Results[str, FetchedOffsets]()
    strange = {
        key: _other_topology(groups[key], topics)
        for key, offsets in committed.values.items()
        if (topics := {place.topic for place in offsets}) and topics.isdisjoint(groups[key].read_topics)
    }
    errors = {**groups.errors, **committed.errors, **strange}
    return Results({key: group for key, group in groups.values.items() if key not in errors}, errors)


def _other_topology(group: ApplicationGroup, topics: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(
        f"topology: the classic group {group.group_id} has committed offsets of {listed(sorted(topics))}, and the "
        f"topology reads {listed(group.read_topics)}. Give the topology of the group's application."
    )
