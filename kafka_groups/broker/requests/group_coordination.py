"""Checks that all handlers of group requests make first."""

from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import UnsupportedVersionError

__all__ = ["check_coordinator", "check_share_groups_enabled"]

_SHARE_FEATURE = "share.version"


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
    if services.metadata.features.get(_SHARE_FEATURE, 0) < 1:
        raise UnsupportedVersionError("Share groups are disabled: the feature share.version is at level 0.")
