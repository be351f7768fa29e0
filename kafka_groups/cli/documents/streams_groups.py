"""The document of `kafka-groups streams describe`."""

from collections.abc import Mapping

from attrs import frozen

__all__ = [
    "ClassicStreamsMemberEntry",
    "InternalTopicEntry",
    "PartitionLagEntry",
    "StreamsGroupContents",
    "StreamsMemberEntry",
    "StreamsMemberIdentity",
    "SubtopologyEntry",
    "TasksByRole",
]


@frozen
class PartitionLagEntry:
    """The lag of a group in a partition.

    Attributes:
        topic: The topic.
        partition: The partition.
        lag: The lag, or null if it is unknown.
    """

    topic: str
    partition: int
    lag: int | None


@frozen
class InternalTopicEntry:
    """An internal topic.

    Attributes:
        topic: The topic.
        partitions: The number of its partitions, or null if it is not decided.
    """

    topic: str
    partitions: int | None


@frozen
class SubtopologyEntry:
    """A sub-topology.

    Attributes:
        subtopology: Its id.
        sources: The topics that it reads.
        repartition_sources: The repartition topics that it reads.
        repartition_sinks: The repartition topics that it writes.
        changelogs: The changelogs of its stores.
    """

    subtopology: str
    sources: tuple[str, ...]
    repartition_sources: tuple[InternalTopicEntry, ...]
    repartition_sinks: tuple[str, ...]
    changelogs: tuple[InternalTopicEntry, ...]


@frozen
class TasksByRole:
    """Tasks, such as `0_1`, by role.

    Attributes:
        active: Tasks that are processed.
        standby: Copies that are kept up to date.
        warmup: Copies that are built, to move the task. In a classic group they are among the standby tasks.
    """

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...] = ()


@frozen
class StreamsMemberIdentity:
    """A member of a streams application, in a group of either protocol.

    Attributes:
        member: Its id.
        process: The id of its process.
        instance: The instance id of a static member, or null.
        rack: Its rack, or null.
        client: The name of its client.
        host: The address that it connects from.
        endpoint: Host and port at which its process answers queries, or null.
        client_tags: Its client tags.
        tasks: The tasks that it has.
    """

    member: str
    process: str
    instance: str | None
    rack: str | None
    client: str
    host: str
    endpoint: str | None
    client_tags: Mapping[str, str]
    tasks: TasksByRole


@frozen
class StreamsMemberEntry(StreamsMemberIdentity):
    """A member of a streams group.

    Attributes:
        epoch: Its member epoch.
        classic: Whether it uses the classic protocol.
        target: The tasks that it will have.
        changelog_lags: The number of records that its stores do not have yet, by task.
    """

    epoch: int
    classic: bool
    target: TasksByRole
    changelog_lags: Mapping[str, int]


@frozen
class ClassicStreamsMemberEntry(StreamsMemberIdentity):
    """A member of the classic group of a streams application, as it was when it joined the last round.

    Attributes:
        version: The version of the data that it sent.
        latest_version: The latest version that it knows.
        generation: The generation in which it had its tasks, or null.
        owned: All tasks that it had.
        running: The tasks that it processed.
        changelog_positions: The sums of its positions in changelogs, by task; null for tasks that it processed.
        requests_shutdown: Whether it asked all members to shut down.
        assigned_version: The version of the data that the leader sent, or null.
        common_version: The latest version that all members knew, or null.
        error: The number of the error that the leader sent, or null.
        rejoins_at_once: Whether it joins again at once.
        next_rebalance_ms: The time at which it joins again, in milliseconds since 1970, or null.
    """

    version: int
    latest_version: int
    generation: int | None
    owned: tuple[str, ...]
    running: tuple[str, ...]
    changelog_positions: Mapping[str, int | None]
    requests_shutdown: bool
    assigned_version: int | None
    common_version: int | None
    error: int | None
    rejoins_at_once: bool
    next_rebalance_ms: int | None


@frozen
class StreamsGroupContents:
    """The group of a streams application.

    Attributes:
        group: The group.
        protocol: `streams`, or `classic` for an application with group.protocol=classic.
        state: Its state.
        lag: The sum of the lags, or null if one of them is unknown.
        lag_error: The reason why the lag is missing, or null.
        partitions: The lag in each partition.
        epoch: The group epoch, or null in a classic group.
        assignment_epoch: The group epoch that the assignment is for, or null in a classic group.
        assignor: The assignor, or null.
        subtopologies: The sub-topologies; null if the group has no topology, and in a classic group.
        members: The members.
    """

    group: str
    protocol: str
    state: str
    lag: int | None
    lag_error: str | None
    partitions: tuple[PartitionLagEntry, ...]
    epoch: int | None
    assignment_epoch: int | None
    assignor: str | None
    subtopologies: tuple[SubtopologyEntry, ...] | None
    members: tuple[StreamsMemberEntry | ClassicStreamsMemberEntry, ...]
