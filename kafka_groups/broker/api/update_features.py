"""UpdateFeatures (key 57), v0-v2: changes the levels at which the cluster runs its features (KIP-584, KIP-778).

All updates are made, or none. v0 can only upgrade: as in Kafka, it ignores `allow_downgrade`. Brokers act by the new
levels at once, and show them in ApiVersions. v0 and v1 list the features of an update that succeeds.

Errors: CLUSTER_AUTHORIZATION_FAILED, INVALID_UPDATE_VERSION (unknown feature, level or kind of update; a lower level
with an upgrade, or a higher one with a downgrade; `kraft.version` and, from a level on, `metadata.version` cannot be
lowered).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.features import FeatureRules, FeatureUpdate, UpdateKind, updated_levels
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.errors import InvalidUpdateVersionError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

__all__ = ["handle"]

_FIRST_WITH_KINDS = 1
_LAST_WITH_RESULTS = 1
_NO_ERROR = "NONE"  # as Kafka writes it


async def handle(request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    """Check the updates, and make them unless the request only wants to know."""
    if not context.may(AclOperation.ALTER, AclResourceType.CLUSTER):
        return UpdateFeaturesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    updates = await _updates(request, context)
    services = context.services
    try:
        levels = updated_levels(updates, services.cluster.metadata.features, _rules(context))
    except InvalidUpdateVersionError as error:
        return UpdateFeaturesResponse(error_code=code_of(error), error_message=str(error))
    if not request.validate_only:
        services.cluster.metadata.finalize_features(levels)
    # From version 2 on, results of single features have no meaning any more: all succeed or all fail.
    listed = updates if context.version <= _LAST_WITH_RESULTS else ()
    return UpdateFeaturesResponse(
        results=tuple(UpdatableFeatureResult(feature=each.feature, error_message=_NO_ERROR) for each in listed)
    )


async def _updates(request: UpdateFeaturesRequest, context: RequestContext) -> list[FeatureUpdate]:
    has_kinds = context.version >= _FIRST_WITH_KINDS
    return [
        FeatureUpdate(each.feature, each.max_version_level, each.upgrade_type if has_kinds else UpdateKind.UPGRADE)
        async for each in context.turns.each(request.feature_updates, CHEAP)
    ]


def _rules(context: RequestContext) -> FeatureRules:
    cluster = context.services.cluster
    profile = cluster.profile
    return FeatureRules(profile.supported_features(), profile.lowest_metadata_level, cluster.metadata.controller_id)
