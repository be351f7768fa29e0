"""The methods of the blocking admin client for topics and the cluster; generated from `aio_topics.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.admin_transactions import TransactionCalls
from kafka_groups.admin.rules.topic_arguments import DeletedBefore
from kafka_groups.admin.rules.topic_values import ClusterDescription, TopicDescription, TopicListing
from kafka_groups.admin.rules.topics import TopicToCreate
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TopicPartition

__all__ = ["TopicCalls"]


class TopicCalls(TransactionCalls):
    """The methods of `KafkaAdmin` about topics and the cluster."""

    def describe_cluster(
        self, *, include_fenced: bool = False, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """Describe the cluster: its id, its controller and its brokers (KIP-700). Kafka 2.8 and later.

        Args:
            include_fenced: Describe also brokers that are registered and not running (KIP-1073). Kafka 4.0 and later.
            include_authorized_operations: Tell which operations you may perform on the cluster (KIP-430).
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Raises:
            UnsupportedVersionError: The broker is too old.
            OperationTimeoutError: No broker answered in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(
            self._admin.describe_cluster(
                include_fenced=include_fenced,
                include_authorized_operations=include_authorized_operations,
                timeout=timeout,
            )
        )

    def list_topics(self, *, include_internal: bool = False, timeout: float | None = None) -> tuple[TopicListing, ...]:
        """List the topics of the cluster.

        Args:
            include_internal: List also Kafka's own topics, such as `__consumer_offsets`.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The topics that you may describe, sorted by name.

        Raises:
            OperationTimeoutError: No broker answered in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.list_topics(include_internal=include_internal, timeout=timeout))

    def describe_topics(
        self, topics: Iterable[str], *, include_authorized_operations: bool = False, timeout: float | None = None
    ) -> Results[str, TopicDescription]:
        """Describe topics: their ids, partitions, leaders and replicas. No topic is created.

        Args:
            topics: The topics.
            include_authorized_operations: Tell which operations you may perform on each topic (KIP-430).
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each topic: `UnknownTopicOrPartitionError` if it does not exist,
            `TopicAuthorizationFailedError` if you may not describe it.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(
            self._admin.describe_topics(
                topics, include_authorized_operations=include_authorized_operations, timeout=timeout
            )
        )

    def create_topics(
        self, topics: Mapping[str, TopicToCreate], *, validate_only: bool = False, timeout: float | None = None
    ) -> Results[str, None]:
        """Create topics. A broker may need a moment until it knows them.

        Args:
            topics: For each name the number of partitions, the replication factor and configs.
            validate_only: Check the topics and create none.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each topic: `TopicAlreadyExistsError`, `InvalidReplicationFactorError` if there are too
            few brokers, `InvalidConfigError`, `PolicyViolationError`, `TopicAuthorizationFailedError`.

        Raises:
            ConfigurationError: A name, a number or a config is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.create_topics(topics, validate_only=validate_only, timeout=timeout))

    def create_partitions(
        self, totals: Mapping[str, int], *, validate_only: bool = False, timeout: float | None = None
    ) -> Results[str, None]:
        """Add partitions to topics (KIP-195). They cannot be removed again, and keys move to other partitions.

        Args:
            totals: The number of partitions that each topic will have.
            validate_only: Check the numbers and add no partitions.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each topic: `UnknownTopicOrPartitionError` if it does not exist,
            `InvalidPartitionsError` if it has as many partitions already, `TopicAuthorizationFailedError`.

        Raises:
            ConfigurationError: A number is out of bounds.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.create_partitions(totals, validate_only=validate_only, timeout=timeout))

    def delete_topics(self, topics: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
        """Delete topics and their records.

        Args:
            topics: The topics.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each topic: `UnknownTopicOrPartitionError` if it does not exist,
            `TopicAuthorizationFailedError`, `TopicDeletionDisabledError`.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.delete_topics(topics, timeout=timeout))

    def delete_records(
        self, before: Mapping[TopicPartition, DeletedBefore], *, timeout: float | None = None
    ) -> Results[TopicPartition, int]:
        """Delete records from the beginning of partitions (KIP-107). Other records stay, and keep their offsets.

        Args:
            before: For each partition the first offset to keep, or `latest` to delete all records.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The first offset that is left, or an error for each partition: `OffsetOutOfRangeError` beyond its end,
            `PolicyViolationError` if the topic is compacted and nothing else, `UnknownTopicOrPartitionError`,
            `TopicAuthorizationFailedError`.

        Raises:
            ConfigurationError: An offset is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.delete_records(before, timeout=timeout))
