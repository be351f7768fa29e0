"""Checks that all handlers of group requests make first."""

from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import NotCoordinatorError, UnsupportedVersionError

__all__ = ["check_coordinator", "check_share_groups_enabled", "coordinates"]

_SHARE_FEATURE = "share.version"


def coordinates(services: BrokerServices, group_id: str) -> bool:
    """Return whether this broker coordinates a group."""
    return services.metadata.coordinator_of(group_id) == services.node_id


def check_coordinator(services: BrokerServices, group_id: str) -> None:
    """Raise an error if another broker coordinates the group.

    Raises:
        NotCoordinatorError: Another broker coordinates the group.
    """
    if not coordinates(services, group_id):
        raise NotCoordinatorError


def check_share_groups_enabled(services: BrokerServices) -> None:
    """Raise an error if share groups are disabled in the cluster.

    Raises:
        UnsupportedVersionError: The feature share.version is at level 0.
    """
    if services.metadata.features.get(_SHARE_FEATURE, 0) < 1:
        raise UnsupportedVersionError("Share groups are disabled: the feature share.version is at level 0.")
