"""What the blocking admin client does with streams groups."""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from kafka_groups.admin.aio_streams import AsyncStreamsGroupCalls
from kafka_groups.admin.results import Results
from kafka_groups.admin.streams_values import StreamsGroupDescription, StreamsGroupList, StreamsGroupOffset
from kafka_groups.types import TopicPartition

__all__ = ["StreamsGroupCalls"]

T = TypeVar("T")


class StreamsGroupCalls(ABC):
    """The methods of `KafkaAdmin` about streams groups (KIP-1071)."""

    _admin: AsyncStreamsGroupCalls

    @abstractmethod
    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call of the asynchronous client to its end."""

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

    def delete_streams_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
        """Delete streams groups and their committed offsets. Groups of other types are not deleted.

        Internal topics stay: delete them first, with `delete_streams_group_internal_topics`.

        Args:
            group_ids: The groups. They must not have members.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each group: `NonEmptyGroupError` if it has members, `GroupIdNotFoundError` if it does
            not exist or is of another type, `GroupAuthorizationFailedError` if you may not delete or describe it.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.delete_streams_groups(group_ids, timeout=timeout))

    def describe_streams_group_offsets(
        self,
        groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> Results[str, Results[TopicPartition, StreamsGroupOffset]]:
        """Describe how far streams groups are: committed offsets and lag (KIP-1071).

        Args:
            groups: The groups; or a dictionary of partitions by group, with None for all partitions of a group.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group an error such as `GroupIdNotFoundError`, or an offset or an error for each partition. Without
            partitions, these are the partitions of all topics that the application reads, and others for which the
            group has committed offsets.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_streams_group_offsets(groups, timeout=timeout))

    def alter_streams_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Set the committed offsets of a streams group without members (KIP-1071).

        The application continues at these offsets. Its stores and repartition topics still have what it made of earlier
        records: `delete_streams_group_internal_topics` removes that, too.

        Args:
            group_id: The group.
            offsets: The offset of the next record to process, by partition.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each partition, such as `UnknownTopicOrPartitionError`.

        Raises:
            NonEmptyGroupError: The group has members.
            GroupIdNotFoundError: The group does not exist or is of another type.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(self._admin.alter_streams_group_offsets(group_id, offsets, timeout=timeout))

    def delete_streams_group_offsets(
        self, group_id: str, topics: Iterable[str | TopicPartition], *, timeout: float | None = None
    ) -> Results[TopicPartition, None]:
        """Make a streams group forget its committed offsets of topics (KIP-1071).

        When the application runs again, it starts there where its `auto.offset.reset` says.

        Args:
            group_id: The group.
            topics: Topics, single partitions, or both.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each partition: `GroupSubscribedToTopicError` if the group has members that read the
            topic, `UnknownTopicOrPartitionError`.

        Raises:
            GroupIdNotFoundError: The group does not exist or is of another type.
            UnknownTopicOrPartitionError: A topic does not exist.
            GroupAuthorizationFailedError: You may not change the group.
            KafkaGroupsError: The coordinator refused the group, or did not answer in time.
        """
        return self._run(self._admin.delete_streams_group_offsets(group_id, topics, timeout=timeout))
