"""What the handlers of group requests check first."""

from kafka_groups.broker.api.context import BrokerServices
from kafka_groups.errors import NotCoordinatorError, UnsupportedVersionError

__all__ = ["check_coordinator", "check_share_groups_enabled", "coordinates"]

_SHARE_FEATURE = "share.version"


def coordinates(services: BrokerServices, group_id: str) -> bool:
    """Whether this broker is the coordinator of a group."""
    return services.metadata.coordinator_of(group_id) == services.node_id


def check_coordinator(services: BrokerServices, group_id: str) -> None:
    """Refuse a request that belongs to another broker.

    Raises:
        NotCoordinatorError: Another broker coordinates the group.
    """
    if not coordinates(services, group_id):
        raise NotCoordinatorError


def check_share_groups_enabled(services: BrokerServices) -> None:
    """Refuse a request about share groups in a cluster that has them switched off.

    Raises:
        UnsupportedVersionError: The feature share.version is at level 0.
    """
    if services.metadata.features.get(_SHARE_FEATURE, 0) < 1:
        raise UnsupportedVersionError("share groups are switched off: the feature share.version is at level 0")
