"""The methods of the asynchronous admin client for configurations of topics, brokers and groups."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.config_arguments import checked_config_changes, checked_resources
from kafka_groups.admin.rules.config_values import ConfigResource, DescribedConfigs
from kafka_groups.admin.rules.group_configs import ConfigChanges
from kafka_groups.admin.rules.resource_configs import alter_resources, describe_resources
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results

__all__ = ["AsyncConfigCalls"]


class AsyncConfigCalls(ABC):
    """The methods of `AsyncKafkaAdmin` about configurations."""

    @abstractmethod
    def _within(self, timeout_s: float | None) -> Asking:
        """Return a function that asks questions, all of them together for at most this long."""

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout: float | None = None
    ) -> Results[ConfigResource, DescribedConfigs]:
        """Describe the configurations of topics, brokers and groups, with the levels that values come from (KIP-226).

        Args:
            resources: The resources. Groups need not exist.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each resource a `DescribedConfig` by Kafka's names, or an error: `UnknownTopicOrPartitionError`,
            `InvalidRequestError` if there is no such broker, `TopicAuthorizationFailedError`,
            `ClusterAuthorizationFailedError` for a broker, `GroupAuthorizationFailedError`.

        Raises:
            ConfigurationError: A resource is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await describe_resources(self._within(timeout), checked_resources(resources))

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, ConfigChanges],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Results[ConfigResource, None]:
        """Change configurations of topics, brokers and groups; others keep their values (KIP-339).

        All changes of a resource are made, or none. They reach the brokers within moments, not before this returns.

        Args:
            changes: For each resource new values by Kafka's names; None resets one to what its next level says.
            validate_only: Check the changes and make none.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            None or an error for each resource: `InvalidConfigError`, `InvalidRequestError` if a broker's configuration
            cannot be changed while it runs, `UnknownTopicOrPartitionError`, `TopicAuthorizationFailedError`,
            `ClusterAuthorizationFailedError` for a broker, `GroupAuthorizationFailedError`.

        Raises:
            ConfigurationError: A resource or a value is invalid.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return await alter_resources(
            self._within(timeout), checked_config_changes(changes), validate_only=validate_only
        )
