"""The methods of the blocking admin client for groups of any type; generated from `aio_groups.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.admin_configs import ConfigCalls
from kafka_groups.admin.rules.group_values import ConsumerGroupOffset, GroupDescription, GroupList
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TopicPartition

__all__ = ["GroupCalls"]


class GroupCalls(ConfigCalls):
    """The methods of `KafkaAdmin` about groups of any type, and about consumer groups."""

    def list_groups(
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
        return self._run(self._admin.list_groups(types=types, states=states, timeout=timeout))

    def describe_groups(
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
        return self._run(self._admin.describe_groups(group_ids, timeout=timeout))

    def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
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
        return self._run(self._admin.delete_groups(group_ids, timeout=timeout))

    def describe_consumer_group_offsets(
        self, groups: Iterable[str] | Mapping[str, Iterable[TopicPartition] | None], *, timeout: float | None = None
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
        return self._run(self._admin.describe_consumer_group_offsets(groups, timeout=timeout))
