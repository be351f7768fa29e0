"""The methods of the blocking admin client for streams groups; generated from `aio_streams.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from kafka_groups.admin.admin_access import AccessCalls
from kafka_groups.admin.rules.classic_streams.classic_values import ClassicStreamsGroupDescription
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology
from kafka_groups.admin.rules.plans.plan_values import StreamsPlan
from kafka_groups.admin.rules.plans.what_if import PlannedProcess
from kafka_groups.admin.rules.streams_values import StreamsGroupDescription, StreamsGroupList, StreamsGroupOffset
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TopicPartition

__all__ = ["StreamsGroupCalls"]


class StreamsGroupCalls(AccessCalls):
    """The methods of `KafkaAdmin` about streams groups (KIP-1071)."""

    def list_streams_groups(self, *, states: Iterable[str] = (), timeout: float | None = None) -> StreamsGroupList:
        """List the streams groups of the cluster (KIP-1071, KIP-1043).

        Asks every broker. A broker that does not answer is in `errors` of the list, and its groups are missing.

        Args:
            states: Only groups in these states: `Empty`, `NotReady`, `Assigning`, `Reconciling`, `Stable` or `Dead`. By
                default all.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The groups that you may see, sorted by id.

        Raises:
            OperationTimeoutError: No broker named the others in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.list_streams_groups(states=states, timeout=timeout))

    def describe_streams_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, StreamsGroupDescription]:
        """Describe streams groups: state, topology, members with their tasks, and lag (KIP-1071).

        Args:
            group_ids: The groups.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each group: `GroupIdNotFoundError` if it does not exist or is of another type,
            `GroupAuthorizationFailedError` if you may not describe it, `TopicAuthorizationFailedError` if you may not
            describe one of its topics, `OperationTimeoutError` if its coordinator does not answer.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_streams_groups(group_ids, timeout=timeout))

    def describe_classic_streams_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, ClassicStreamsGroupDescription]:
        """Describe classic groups of streams applications: state, members with their tasks, and lag.

        These are applications with `group.protocol=classic`, in Python or in Java. What is described is what members
        sent when they joined the last round, and what the leader gave them. Brokers do not tell which member leads.

        Args:
            group_ids: The groups.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each group: `GroupIdNotFoundError` if it does not exist, is of another type,
            or its members are not those of a streams application; `IllegalStateError` while it rebalances;
            `MemberDataError` if the data of a member cannot be read; `GroupAuthorizationFailedError` if you may not
            describe it; `OperationTimeoutError` if its coordinator does not answer.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_classic_streams_groups(group_ids, timeout=timeout))

    def delete_streams_groups(
        self, group_ids: Iterable[str], *, topology: GivenTopology | None = None, timeout: float | None = None
    ) -> Results[str, None]:
        """Delete streams groups, or classic groups of streams applications, and their committed offsets.

        Groups of other types are not deleted. Internal topics stay: delete them first, with
        `delete_streams_group_internal_topics`.

        Args:
            group_ids: The groups. They must not have members.
            topology: The topology of the application, if these are classic groups: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each group: `NonEmptyGroupError` if it has members, `GroupIdNotFoundError` if it does
            not exist or is of another type, `ConfigurationError` if it has committed offsets, but only of topics that
            the topology does not read, `GroupAuthorizationFailedError` if you may not delete or describe it.

        Raises:
            ConfigurationError: The topology is not one.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.delete_streams_groups(group_ids, topology=topology, timeout=timeout))

    def describe_streams_group_offsets(
        self,
        groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
        *,
        topology: GivenTopology | None = None,
        timeout: float | None = None,
    ) -> Results[str, Results[TopicPartition, StreamsGroupOffset]]:
        """Describe how far streams groups are: committed offsets and lag (KIP-1071).

        Args:
            groups: The groups; or a dictionary of partitions by group, with None for all partitions of a group.
            topology: The topology of the application, if these are classic groups: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group an error such as `GroupIdNotFoundError`, or an offset or an error for each partition. Without
            partitions, these are the partitions of all topics that the application reads, and others for which the
            group has committed offsets.

        Raises:
            ConfigurationError: The topology is not one.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_streams_group_offsets(groups, topology=topology, timeout=timeout))

    def alter_streams_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        *,
        topology: GivenTopology | None = None,
        timeout: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Set the committed offsets of a streams group without members (KIP-1071).

        The application continues at these offsets. Its stores and repartition topics still have what it made of earlier
        records: `delete_streams_group_internal_topics` removes that, too.

        Args:
            group_id: The group.
            offsets: The offset of the next record to process, by partition.
            topology: The topology of the application, if this is a classic group: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each partition, such as `UnknownTopicOrPartitionError`.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group does not exist or is of another type.
            ConfigurationError: The topology is not one, or the group has committed offsets, but only of topics that the
                topology does not read.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(self._admin.alter_streams_group_offsets(group_id, offsets, topology=topology, timeout=timeout))

    def reset_streams_group_offsets(
        self,
        group_id: str,
        to: Literal["earliest", "latest", "current"] | datetime | int | Mapping[TopicPartition, int] | None = None,
        topics: Iterable[str | TopicPartition] | None = None,
        *,
        shift_by: int | None = None,
        dry_run: bool = False,
        topology: GivenTopology | None = None,
        timeout: float | None = None,
    ) -> Results[TopicPartition, int]:
        """Move a streams group without members to other offsets (KIP-1071).

        The application's stores and repartition topics still have what it made of earlier records:
        `delete_streams_group_internal_topics` removes that. Each instance has to remove its local state, too.

        Give either `to` or `shift_by`. An offset that does not exist becomes the nearest one that does.

        Args:
            group_id: The group.
            to: `earliest` or `latest`; `current` for the committed offsets, or the end of partitions without one; a
                time with a time zone for the first record at or after it, or the end if there is none; an offset; or a
                dictionary of offsets by partition.
            topics: Topics, single partitions, or both. None stands for all input topics; with `current` and `shift_by`,
                for their partitions with a committed offset.
            shift_by: How many records to skip after the committed offset, or to read again if it is negative.
            dry_run: Return the new offsets, but change nothing.
            topology: The topology of the application, if this is a classic group: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The new offset or an error for each partition: `IllegalStateError` if there is no offset to shift.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group does not exist or is of another type.
            ConfigurationError: The group does not read one of the topics, the topology is not one, or the group has
                committed offsets, but only of topics that the topology does not read.
            UnknownTopicOrPartitionError: A topic does not exist.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(
            self._admin.reset_streams_group_offsets(
                group_id, to, topics, shift_by=shift_by, dry_run=dry_run, topology=topology, timeout=timeout
            )
        )

    def delete_streams_group_offsets(
        self,
        group_id: str,
        topics: Iterable[str | TopicPartition] | None,
        *,
        topology: GivenTopology | None = None,
        timeout: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Make a streams group forget its committed offsets of topics (KIP-1071).

        When the application runs again, it starts there where its `auto.offset.reset` says.

        Args:
            group_id: The group.
            topics: Topics, single partitions, or both; None for all input topics.
            topology: The topology of the application, if this is a classic group: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each partition: `GroupSubscribedToTopicError` if the group has members that read the
            topic, `UnknownTopicOrPartitionError`.

        Raises:
            GroupIdNotFoundError: The group does not exist or is of another type.
            ConfigurationError: The topology is not one, or the group has committed offsets, but only of topics that the
                topology does not read.
            UnknownTopicOrPartitionError: A topic does not exist.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(self._admin.delete_streams_group_offsets(group_id, topics, topology=topology, timeout=timeout))

    def delete_streams_group_internal_topics(
        self,
        group_id: str,
        topics: Iterable[str] | None = None,
        *,
        topology: GivenTopology | None = None,
        timeout: float | None = None,
    ) -> Results[str, None]:
        """Delete changelogs and repartition topics of a streams group without members (KIP-1071).

        They are created again when the application runs. Without a streams group, its topics are not known any more, so
        delete them before the group. Those of a classic group can be deleted afterwards, too.

        Args:
            group_id: The group.
            topics: Names of internal topics; None for all. `StreamsGroupDescription.internal_topics` has their names.
                Those of a classic group that do not exist are left out.
            topology: The topology of the application, if this is a classic group: brokers do not keep it.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each topic: `UnknownTopicOrPartitionError` if it does not exist,
            `TopicAuthorizationFailedError` if you may not delete it.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group does not exist or is of another type.
            ConfigurationError: One of the topics is not an internal topic of the group, the topology is not one, or the
                group has committed offsets, but only of topics that the topology does not read.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(
            self._admin.delete_streams_group_internal_topics(group_id, topics, topology=topology, timeout=timeout)
        )

    # ------------------------------------------------------------------------------------------ plans

    def plan_streams_group(
        self,
        group_id: str,
        assignor: object = None,
        *,
        topology: GivenTopology | None = None,
        configs: Mapping[str, object] | None = None,
        standby_replicas: int | None = None,
        leaving: Iterable[str] = (),
        joining: Iterable[PlannedProcess] = (),
        timeout: float | None = None,
    ) -> StreamsPlan:
        """Return what a task assignor would do to a running application, and change nothing (KIP-924, KIP-1357).

        The brokers describe the group, its topics and the offsets of its changelogs. The assignor runs in your program,
        so the group may be on any brokers. It runs on the client's event loop: nothing else happens there until it
        returns. One by process is configured before, and its `on_assignment_computed` is called afterwards, as in a
        group.

        A streams group keeps its topology and its configuration in the brokers. The acceptable lag is Kafka's default
        of 10,000. A classic group (`group.protocol=classic`) keeps neither, so give both.

        Args:
            group_id: The group.
            assignor: The task assignor. For a streams group: a subclass or object of `TaskAssignor`, a function, or a
                class or object that assigns tasks to members (KIP-1357); where one of these is, as `module:Class`; a
                `Registered`, which may have a configuration; or the name of a built-in assignor, `sticky` or
                `highly_available`. For a classic group: what `task_assignor_class` may be; None is the default,
                `HighAvailabilityTaskAssignor`.
            topology: The topology of the application, if the group is a classic group; None for a streams group.
            configs: The configuration of an application in a classic group, as far as it concerns assignments, such as
                `num.standby.replicas` and `rack.aware.assignment.strategy`, and the keys of its assignor.
            standby_replicas: The number of copies of each task with state; None is that of the group's or the
                application's configuration.
            leaving: Ids of members that leave the group.
            joining: Processes that join it. They have no state.
            timeout: Longest wait for the brokers, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The plan. If its `error` is not None, the group would not use the result.

        Raises:
            ConfigurationError: An argument is invalid, or missing for this type of group; the topology is not that of
                the group; the group has no such member, or nobody would be left in it.
            IllegalStateError: The group is Empty or NotReady, so it has no tasks that could move; or it is a classic
                group that rebalances.
            TaskAssignorError: The assignor raised an exception, which is the cause of this one.
            GroupIdNotFoundError: The group does not exist or is of another type.
            MemberDataError: The data of a member of a classic group cannot be read.
            GroupAuthorizationFailedError: You may not describe the group.
            KafkaGroupsError: A topic cannot be described, or the brokers did not answer in time.
        """
        return self._run(
            self._admin.plan_streams_group(
                group_id,
                assignor,
                topology=topology,
                configs=configs,
                standby_replicas=standby_replicas,
                leaving=leaving,
                joining=joining,
                timeout=timeout,
            )
        )
