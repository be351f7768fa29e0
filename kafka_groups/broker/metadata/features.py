"""Checks of updates of feature levels (KIP-584, KIP-778). The texts of errors are Kafka's."""

import enum
from collections.abc import Iterable, Mapping

from attrs import frozen

from kafka_groups.errors import InvalidUpdateVersionError
from kafka_groups.protocol.apis import VersionRange

__all__ = ["DEAD_LETTERS_FROM", "SHARE_FEATURE", "FeatureRules", "FeatureUpdate", "UpdateKind", "updated_levels"]

SHARE_FEATURE = "share.version"
"""Share groups are enabled from its level 1 on."""
DEAD_LETTERS_FROM = 2
"""The level of `share.version` from which on share groups may have dead-letter queues (KIP-1191)."""
_METADATA = "metadata.version"
_KRAFT = "kraft.version"
_CHECKED_FIRST = ("group.version", _KRAFT, _METADATA, SHARE_FEATURE, "streams.version", "transaction.version")


class UpdateKind(enum.IntEnum):
    """The kind of an update: an upgrade, or a safe or unsafe downgrade."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureUpdate:
    """A new level of a feature. `kind` is an `UpdateKind`, unless the request has another number."""

    feature: str
    level: int
    kind: int


@frozen
class FeatureRules:
    """The feature levels that a cluster allows.

    Attributes:
        supported: The levels of each feature.
        lowest_metadata_level: The lowest level of `metadata.version` that loses nothing that later ones have.
        controller_id: The node that decides, which the errors name.
    """

    supported: Mapping[str, VersionRange]
    lowest_metadata_level: int
    controller_id: int


def updated_levels(updates: Iterable[FeatureUpdate], current: Mapping[str, int], rules: FeatureRules) -> dict[str, int]:
    """Return the levels that a request asks for. If it names a feature twice, the last one counts.

    Raises:
        InvalidUpdateVersionError: An update is refused, and with it all of them.
    """
    # All or nothing: the levels are returned only after every update has passed.
    by_name = {update.feature: update for update in updates}
    for update in sorted(by_name.values(), key=_turn):
        _check(update, current.get(update.feature, 0), rules)
    return {name: update.level for name, update in by_name.items()}


def _turn(update: FeatureUpdate) -> int:
    """Return the position of an update in the order in which Kafka checks features; the first error is returned."""
    return _CHECKED_FIRST.index(update.feature) if update.feature in _CHECKED_FIRST else len(_CHECKED_FIRST)


def _check(update: FeatureUpdate, current: int, rules: FeatureRules) -> None:
    # The order of the checks is Kafka's. Only the first error of the first feature is told.
    if update.kind not in tuple(UpdateKind):
        raise _refusal(update, "The controller does not support the given upgrade type.")
    if update.level < 0:
        raise _refusal(update, "A feature version cannot be less than 0.")
    _check_supported(update, rules)
    # The kind says what the sender believes that it does. If that is wrong, it knows another level than the cluster
    # has.
    if update.level > current and update.kind != UpdateKind.UPGRADE:
        raise _refusal(update, "Can't downgrade to a newer version.")
    if update.level < current:
        _check_downgrade(update, current, rules)


def _check_supported(update: FeatureUpdate, rules: FeatureRules) -> None:
    levels = rules.supported.get(update.feature)
    # Level 0 means that a feature is off. Turning off a feature that does not exist has a text of its own in Kafka.
    if levels is None and update.level == 0:
        raise _refusal(update, f"Feature {update.feature} not found.")
    if levels is None:
        raise _refusal(update, f"Local controller {rules.controller_id} does not support this feature.")
    if update.level not in levels:
        supports = f"only supports versions {levels.low}-{levels.high}"
        raise _refusal(update, f"Local controller {rules.controller_id} {supports}")


def _check_downgrade(update: FeatureUpdate, current: int, rules: FeatureRules) -> None:
    # A level must not fall by mistake, for example because an old tool repeats the level that it knows.
    if update.kind == UpdateKind.UPGRADE:
        without = "without setting the upgrade type to either safe or unsafe downgrade"
        raise _refusal(update, f"Can't downgrade the version of this feature {without}.")
    # The controllers' own protocol never goes back.
    if update.feature == _KRAFT:
        raise _refusal(update, "Can't downgrade the version of this feature.")
    # Below this level, records of the metadata would lose fields. Kafka refuses both kinds of such a downgrade, with
    # different texts.
    if update.feature == _METADATA and update.level < rules.lowest_metadata_level:
        is_safe = update.kind == UpdateKind.SAFE_DOWNGRADE
        why = _WOULD_LOSE if is_safe else "Unsafe metadata downgrade is not supported in this version."
        raise _failed(f"Unsupported metadata.version downgrade from {current} to {update.level}. {why}")


_WOULD_LOSE = "Refusing to perform the requested downgrade because it might delete metadata information."


def _refusal(update: FeatureUpdate, why: str) -> InvalidUpdateVersionError:
    return _failed(f"Invalid update version {update.level} for feature {update.feature}. {why}")


def _failed(why: str) -> InvalidUpdateVersionError:
    return InvalidUpdateVersionError(
        f"The update failed for all features since the following feature had an error: {why}"
    )
