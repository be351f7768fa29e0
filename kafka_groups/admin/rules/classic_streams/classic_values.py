"""The values that an admin client returns about streams applications in classic groups."""

from collections.abc import Mapping
from datetime import datetime

from attrs import field, frozen

from kafka_groups.admin.rules.returned_values import total_lag
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["ClassicStreamsGroupDescription", "ClassicStreamsGroupMember"]


@frozen(kw_only=True)
class ClassicStreamsGroupMember:
    """A member of a classic group: a thread, or a worker, of a process of a streams application.

    It is described by what it sent when it joined the last round, and by what the leader then gave it. Members do not
    report anything in between.

    Attributes:
        member_id: Its id.
        process_id: The process that it runs in. Members of one process share a state directory.
        instance_id: Its instance id; None for a dynamic member.
        rack: Its rack, or None.
        client_id: The name of its client. Kafka Streams names the thread in it.
        client_host: The address that it connects from.
        user_endpoint: Host and port at which its process answers interactive queries, or None.
        client_tags: Its client tags. Members of versions before 11 have none.
        topics: The topics that it reads.
        version: The version of the user data that it sent.
        latest_version: The latest version that it can read.
        generation: The group generation in which it got the partitions that it owned, or None.
        owned_partitions: The partitions that it owned when it joined.
        owned_tasks: The tasks of these partitions, as far as the assignments of all members tell them.
        running_tasks: Tasks with changelogs that it was processing when it joined. Members of versions before 7 also
            name those without.
        task_offset_sums: How far its local state of other tasks was: a sum over changelog partitions; None if it does
            not tell, as members of versions before 7.
        requests_shutdown: Whether it asked all members to shut down.
        active_tasks: The tasks that the leader gave it to process.
        standby_tasks: The tasks whose state it shall keep up to date. Warm-up tasks are among them.
        assigned_version: The version in which the leader wrote to it: the lowest that it received.
        common_version: The version that all members can read.
        error_code: 0, or an error that the leader told it: 1 if an input topic is missing, 3 if the assignor failed, 4
            if all members shall shut down.
        rejoins_at_once: Whether it joins again at once. It does if it waits for a task that another member gives up.
        next_rebalance: When it joins again, by the leader's clock, to see if warm-up tasks have caught up; or None.
    """

    member_id: str
    process_id: str
    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    user_endpoint: tuple[str, int] | None
    client_tags: Mapping[str, str]
    topics: frozenset[str]
    version: int
    latest_version: int
    generation: int | None
    owned_partitions: frozenset[TopicPartition]
    owned_tasks: frozenset[TaskId]
    running_tasks: frozenset[TaskId]
    task_offset_sums: Mapping[TaskId, int | None]
    requests_shutdown: bool
    active_tasks: frozenset[TaskId]
    standby_tasks: frozenset[TaskId]
    assigned_version: int
    common_version: int
    error_code: int
    rejoins_at_once: bool
    next_rebalance: datetime | None


@frozen(kw_only=True)
class ClassicStreamsGroupDescription:
    """A classic group of a streams application.

    Brokers tell what members have sent only while a group is stable, and they do not tell which member leads. Of a
    group without members, they do not tell if its members were those of a streams application.

    Attributes:
        group_id: The group, which is the `application.id` of its application.
        state: `Stable` or `Empty`.
        members: The members, sorted by process and client.
        lag: How many records the group has not processed in each partition that it reads, or for which it has committed
            offsets; None if it is unknown.
        lag_error: Why the lag is missing, or None.
    """

    group_id: str
    state: str
    members: tuple[ClassicStreamsGroupMember, ...] = ()
    lag: Mapping[TopicPartition, int | None] = field(factory=dict)
    lag_error: KafkaGroupsError | None = None

    @property
    def total_lag(self) -> int | None:
        """The sum of the lags; None if there are no partitions, or if one lag is unknown."""
        return total_lag(self.lag)

    @property
    def has_members(self) -> bool:
        """True if the group has members, so that its offsets and internal topics must stay."""
        return bool(self.members)

    @property
    def read_topics(self) -> tuple[str, ...]:
        """Names of all topics that members read: input topics and repartition topics, sorted."""
        return tuple(sorted({topic for each in self.members for topic in each.topics}))

    @property
    def processes(self) -> Mapping[str, tuple[ClassicStreamsGroupMember, ...]]:
        """The members of each process."""
        found: dict[str, list[ClassicStreamsGroupMember]] = {}
        for each in self.members:
            found.setdefault(each.process_id, []).append(each)
        return {process_id: tuple(members) for process_id, members in found.items()}
