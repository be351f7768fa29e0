"""StreamsGroupTopologyDescriptionUpdate: what is refused before the group is looked at."""

import pytest
from attrs import evolve

from kafka_groups.config.cluster.streams_group import IN_MEMORY_DESCRIPTIONS
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.topology_description import DescribedTopology
from kafka_groups.protocol.messages.update_features import SAFE_DOWNGRADE, FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.broker.broker_services import HandlerBroker

UPDATE = StreamsGroupTopologyDescriptionUpdateRequest(
    group_id="g", member_id="m", topology_epoch=0, topology_description=DescribedTopology()
)
NO_STREAMS = FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
KEEPING = {"group.streams.topology.description.plugin.class": IN_MEMORY_DESCRIPTIONS}


async def test_brokers_that_keep_no_descriptions_say_how_to_keep_them() -> None:
    response = await HandlerBroker().ask(evolve(UPDATE, member_id=""))
    assert response.error_code is ErrorCode.UNSUPPORTED_VERSION
    assert "group.streams.topology.description.plugin.class" in response.error_message


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (evolve(UPDATE, group_id=""), "The group id is empty."),
        (evolve(UPDATE, member_id=""), "The member id is empty."),
    ],
)
async def test_ids_are_not_empty(update: StreamsGroupTopologyDescriptionUpdateRequest, why: str) -> None:
    response = await HandlerBroker(settings=KEEPING).ask(update)
    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, why)


async def test_without_streams_groups_there_are_no_descriptions() -> None:
    broker = HandlerBroker(settings=KEEPING)
    await broker.ask(UpdateFeaturesRequest(feature_updates=(NO_STREAMS,)))
    response = await broker.ask(evolve(UPDATE, member_id=""))
    assert response.error_code is ErrorCode.UNSUPPORTED_VERSION
    assert "plugin" not in response.error_message
