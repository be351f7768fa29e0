"""Checks that all handlers of group requests make first."""

from collections.abc import Iterable

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import UnsupportedVersionError

__all__ = [
    "check_consumer_groups_enabled",
    "check_coordinator",
    "check_share_groups_enabled",
    "check_streams_groups_enabled",
    "may_describe_all",
    "require_described",
]

_CONSUMER_FEATURE, _CONSUMER_PROTOCOL = "group.version", "consumer"
_STREAMS_FEATURE, _STREAMS_PROTOCOL = "streams.version", "streams"


def check_coordinator(services: BrokerServices, group_id: str) -> None:
    """Raise an error if this broker cannot answer for a group.

    Raises:
        NotCoordinatorError: Another broker coordinates the group, or `__consumer_offsets` does not exist yet.
        CoordinatorLoadInProgressError: The group's records are still being read.
    """
    services.coordinators.groups.runtime.check(services.coordinators.groups.runtime.index_of(group_id))


def check_share_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if share groups are disabled in the cluster.

    Raises:
        UnsupportedVersionError: The feature share.version is at level 0.
    """
    # Only the feature counts for share groups: `share` is not among the rebalance protocols of a broker
    # (KafkaApis.isShareGroupProtocolEnabled in Kafka).
    if not services.cluster.metadata.has_share_groups:
        raise UnsupportedVersionError("Share groups are disabled: the feature share.version is at level 0.")


def check_consumer_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if consumer groups are disabled.

    Raises:
        UnsupportedVersionError: The feature group.version is at level 0, or the broker does not allow the protocol.
    """
    if not _are_enabled(services, _CONSUMER_FEATURE, _CONSUMER_PROTOCOL):
        raise UnsupportedVersionError("Consumer groups are disabled.")


def check_streams_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if streams groups are disabled.

    Raises:
        UnsupportedVersionError: The feature streams.version is at level 0, or the broker does not allow the protocol.
    """
    if not _are_enabled(services, _STREAMS_FEATURE, _STREAMS_PROTOCOL):
        raise UnsupportedVersionError("Streams groups are disabled.")


def may_describe_all(topics: Iterable[str], context: RequestContext) -> bool:
    """Return whether the client may describe all topics of a group. As in Kafka, it asks about each of them."""
    names = dict.fromkeys(topics)
    return len(context.visible(AclOperation.DESCRIBE, AclResourceType.TOPIC, names)) == len(names)


def require_described(topics: Iterable[str], context: RequestContext) -> None:
    """Raise an error if the client may not describe one of the topics that it subscribes to.

    Raises:
        TopicAuthorizationFailedError: It may not describe one of them. The topics need not exist.
    """
    if not may_describe_all(topics, context):
        raise refusal_of(AclResourceType.TOPIC)


def _are_enabled(services: BrokerServices, feature: str, protocol: str) -> bool:
    return (
        # Both the feature and `group.coordinator.rebalance.protocols` can switch a type of groups off
        # (KafkaApis.isConsumerGroupProtocolEnabled and isStreamsGroupProtocolEnabled in Kafka).
        protocol in services.cluster.settings.rebalance_protocols
        and services.cluster.metadata.features.get(feature, 0) > 0
    )
