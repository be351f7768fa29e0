"""The methods of the asynchronous admin client for groups of any type, and for consumer groups."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.any_groups import delete_any_groups, describe_any_groups, list_any_groups
from kafka_groups.admin.rules.arguments import checked_names, checked_states, checked_wanted
from kafka_groups.admin.rules.consumer_offsets import describe_consumer_offsets
from kafka_groups.admin.rules.group_arguments import checked_types
from kafka_groups.admin.rules.group_values import ConsumerGroupOffset, GroupDescription, GroupList
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TopicPartition

__all__ = ["AsyncGroupCalls"]


class AsyncGroupCalls(ABC):
    """The methods of `AsyncKafkaAdmin` about groups of any type, and about consumer groups."""

    @abstractmethod
    def _within(self, timeout_s: float | None) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""

    async def list_groups(
        self, *, types: Iterable[str] = (), states: Iterable[str] = (), timeout: float | None = None
    ) -> GroupList:
        """List the groups of the cluster, of any type.

        Asks every broker. A broker that does not answer is in `errors` of the list, and its groups are missing.

        Args:
            types: Only groups of these types: `classic`, `consumer`, `share` or `streams`. By default all. Kafka 3.8
                and later.
            states: Only groups in these states, such as `Stable` or `Empty`. By default all. Kafka 2.6 and later.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The groups that you may see, sorted by id.

        Raises:
            ConfigurationError: There is no such type.
            OperationTimeoutError: No broker named the others in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        wanted = checked_types(types), checked_states(states)
        return await list_any_groups(self._within(timeout), *wanted)

    async def describe_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, GroupDescription]:
        """Describe groups of any type: state, members, assignments and lag.

        Args:
            group_ids: The groups.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group a `ShareGroupDescription`, `StreamsGroupDescription`, `ConsumerGroupDescription` or
            `ClassicGroupDescription`, whose `type` tells which it is; or an error: `GroupIdNotFoundError` if it does
            not exist, `GroupAuthorizationFailedError` if you may not describe it, `OperationTimeoutError` if its
            coordinator does not answer.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_any_groups(self._within(timeout), checked_names(group_ids, "group_ids"))

    async def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
        """Delete share groups, consumer groups and classic groups, with their offsets.

        Streams groups are not deleted, because they may have internal topics. `delete_streams_groups` deletes them, and
        also the classic groups of streams applications.

        Args:
            group_ids: The groups. They must not have members.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each group: `NonEmptyGroupError` if it has members, `GroupIdNotFoundError` if it does
            not exist or is a streams group, `GroupAuthorizationFailedError` if you may not delete it.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await delete_any_groups(self._within(timeout), checked_names(group_ids, "group_ids"))

    async def describe_consumer_group_offsets(
        self,
        groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> Results[str, Results[TopicPartition, ConsumerGroupOffset]]:
        """Describe how far consumer groups and classic groups are: committed offsets, ends of partitions, lag.

        Args:
            groups: The groups; or a dictionary of partitions by group, with None for all partitions of a group.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each group an error, or an offset or an error for each partition. Without partitions, these are the
            partitions for which the group has committed an offset and that you may see; none if there is no such group,
            or if it is a share group.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_consumer_offsets(self._within(timeout), checked_wanted(groups))
