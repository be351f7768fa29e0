"""UpdateFeatures (key 57), v0-v2: changes the levels at which a cluster runs its features (KIP-584, KIP-778)."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
"""The kinds of updates. Only an unsafe downgrade may lose metadata."""


@frozen(kw_only=True)
class FeatureUpdateKey:
    """A new level of a feature. Level 0 disables it."""

    feature: str
    max_version_level: int
    allow_downgrade: bool = ignorable(default=False)  # v0
    upgrade_type: int = ignorable(UPGRADE)  # v1+


@frozen(kw_only=True)
class UpdateFeaturesRequest:
    """All updates are made, or none. With `validate_only` nothing changes."""

    timeout_ms: int = 60_000
    feature_updates: tuple[FeatureUpdateKey, ...] = ()
    validate_only: bool = False  # v1+


@frozen(kw_only=True)
class UpdatableFeatureResult:
    """The result for one feature."""

    feature: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class UpdateFeaturesResponse:
    """From v2 there is one result for the whole request."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    results: tuple[UpdatableFeatureResult, ...] = ignorable(())  # v0-v1
