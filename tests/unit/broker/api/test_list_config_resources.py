"""ListConfigResources: which resources of which type are listed."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.broker.broker_services import HandlerBroker

GROUP, METRICS = (GROUP_RESOURCE, "g"), (CLIENT_METRICS_RESOURCE, "m")
LOGGERS = [(BROKER_LOGGER_RESOURCE, "0"), (BROKER_LOGGER_RESOURCE, "1")]
BROKERS = [(BROKER_RESOURCE, "0"), (BROKER_RESOURCE, "1")]
TOPIC = (TOPIC_RESOURCE, "t")


@pytest.mark.parametrize(
    ("version", "types", "listed"),
    [
        (0, (), [METRICS]),
        (1, (), [GROUP, METRICS, *LOGGERS, *BROKERS, TOPIC]),
        (1, (GROUP_RESOURCE, GROUP_RESOURCE), [GROUP]),
        (1, (TOPIC_RESOURCE, BROKER_RESOURCE), [*BROKERS, TOPIC]),
    ],
)
async def test_the_resources_of_some_types(version: int, types: tuple[int, ...], listed: list[tuple[int, str]]) -> None:
    broker = HandlerBroker(brokers=2)
    broker.metadata.create_topic("t")
    broker.metadata.alter_configs(*GROUP, {"share.isolation.level": "read_committed"})
    broker.metadata.alter_configs(*METRICS, {"interval.ms": "1000"})
    broker.metadata.alter_configs(CLIENT_METRICS_RESOURCE, "gone", {"interval.ms": "1000"})
    broker.metadata.alter_configs(CLIENT_METRICS_RESOURCE, "gone", {"interval.ms": None})

    response = await broker.ask(ListConfigResourcesRequest(resource_types=types), version)

    assert response.error_code is ErrorCode.NONE
    assert [(each.resource_type, each.resource_name) for each in response.config_resources] == listed


@pytest.mark.parametrize("types", [(0,), (64,), (GROUP_RESOURCE, 64)])
async def test_a_type_that_does_not_exist(types: tuple[int, ...]) -> None:
    response = await HandlerBroker().ask(ListConfigResourcesRequest(resource_types=types), 1)
    assert (response.error_code, response.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, ())
