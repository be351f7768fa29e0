"""UpdateFeatures: what each version tells, and that all updates are made or none."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.update_features import (
    SAFE_DOWNGRADE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
)
from tests.support.broker.broker_services import HandlerBroker

DISABLED = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
UNKNOWN = FeatureUpdateKey(feature="other", max_version_level=1)
RESULT = UpdatableFeatureResult(feature="group.version", error_message="NONE")


@pytest.mark.parametrize(("version", "results"), [(1, (RESULT,)), (2, ())])
async def test_a_new_level_is_shown_in_a_later_epoch(version: int, results: tuple[UpdatableFeatureResult, ...]) -> None:
    broker = HandlerBroker()
    before = await finalized(broker)

    response = await broker.ask(UpdateFeaturesRequest(feature_updates=(DISABLED,)), version)

    assert (response.error_code, response.error_message, response.results) == (ErrorCode.NONE, None, results)
    after = await finalized(broker)
    assert before[1] - after[1] == {"group.version"}
    assert after[0] > before[0]


async def test_a_request_that_only_asks_changes_nothing() -> None:
    broker = HandlerBroker()
    before = await finalized(broker)
    response = await broker.ask(UpdateFeaturesRequest(feature_updates=(DISABLED,), validate_only=True))
    assert (response.error_code, await finalized(broker)) == (ErrorCode.NONE, before)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_one_refused_update_refuses_all(version: int) -> None:
    broker = HandlerBroker()
    before = await finalized(broker)
    response = await broker.ask(UpdateFeaturesRequest(feature_updates=(DISABLED, UNKNOWN)), version)
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, ())
    assert await finalized(broker) == before


async def test_version_0_only_upgrades() -> None:
    downgrade = FeatureUpdateKey(feature="group.version", max_version_level=0, allow_downgrade=True)
    response = await HandlerBroker().ask(UpdateFeaturesRequest(feature_updates=(downgrade,)), 0)
    assert response.error_code is ErrorCode.INVALID_UPDATE_VERSION


async def finalized(broker: HandlerBroker) -> tuple[int, set[str]]:
    """The epoch and the names of the features."""
    request = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    response = await broker.ask(request, 4)
    return response.finalized_features_epoch, {feature.name for feature in response.finalized_features}
