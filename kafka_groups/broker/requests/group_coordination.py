"""Checks that all handlers of group requests make first."""

from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import UnsupportedVersionError

__all__ = ["check_consumer_groups_enabled", "check_coordinator", "check_share_groups_enabled"]

_CONSUMER_FEATURE, _CONSUMER_PROTOCOL = "group.version", "consumer"


def check_coordinator(services: BrokerServices, group_id: str) -> None:
    """Raise an error if this broker cannot answer for a group.

    Raises:
        NotCoordinatorError: Another broker coordinates the group, or `__consumer_offsets` does not exist yet.
        CoordinatorLoadInProgressError: The group's records are still being read.
    """
    services.groups.runtime.check(services.groups.runtime.index_of(group_id))


def check_share_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if share groups are disabled in the cluster.

    Raises:
        UnsupportedVersionError: The feature share.version is at level 0.
    """
    if not services.metadata.has_share_groups:
        raise UnsupportedVersionError("Share groups are disabled: the feature share.version is at level 0.")


def check_consumer_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if consumer groups are disabled.

    Raises:
        UnsupportedVersionError: The feature group.version is at level 0, or the broker does not allow the protocol.
    """
    is_allowed = _CONSUMER_PROTOCOL in services.settings.rebalance_protocols
    if not is_allowed or services.metadata.features.get(_CONSUMER_FEATURE, 0) < 1:
        raise UnsupportedVersionError("Consumer groups are disabled.")
