"""Subscriptions to the metrics of clients, and the list of what has configs."""

from collections.abc import Mapping
from typing import Any

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.incremental_alter_configs import (
    APPEND,
    DELETE,
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, everywhere

DEFAULTS = {"interval.ms": ("300000", 5), "match": ("", 5), "metrics": ("", 5)}


async def alter(client: RawClient, name: str, key: str, value: str | None, operation: int = SET) -> ErrorCode:
    config = AlterableConfig(name=key, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS_RESOURCE, resource_name=name, configs=(config,))
    response = await client.ask(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
    code: ErrorCode = response.responses[0].error_code
    return code


async def described(client: RawClient, name: str) -> Mapping[str, tuple[str, int]]:
    """Value and source by key."""
    resource = DescribeConfigsResource(
        resource_type=CLIENT_METRICS_RESOURCE, resource_name=name, configuration_keys=None
    )
    response = await client.ask(DescribeConfigsRequest(resources=(resource,), include_synonyms=True))
    configs = response.results[0].configs
    for config in configs:
        own = [(config.name, config.value, config.config_source)] if config.config_source != 5 else []
        assert [(each.name, each.value, each.source) for each in config.synonyms] == own
    return {config.name: (config.value, config.config_source) for config in configs}


async def listed(client: RawClient, *types: int, version: int = 1) -> list[tuple[int, str]]:
    response = await client.ask(ListConfigResourcesRequest(resource_types=types), version)
    assert response.error_code is ErrorCode.NONE
    return [(each.resource_type, each.resource_name) for each in response.config_resources]


async def until_described(client: RawClient, name: str, expected: Mapping[str, Any]) -> None:
    await until(lambda: described(client, name), lambda found: found == expected)


@everywhere
async def test_a_subscription_is_set_listed_and_reset(target: Target) -> None:
    client, name = target.client(), unique("metrics")
    assert await described(client, name) == DEFAULTS

    for key, value in (("interval.ms", " 1000 "), ("match", "client_id=app-.*"), ("metrics", " a , b ")):
        assert await alter(client, name, key, value) is ErrorCode.NONE
    changed = {"interval.ms": ("1000", 7), "match": ("client_id=app-.*", 7), "metrics": ("a,b", 7)}
    await until_described(client, name, changed)
    for version in (0, 1):
        types = (CLIENT_METRICS_RESOURCE,) if version else ()
        assert (CLIENT_METRICS_RESOURCE, name) in await listed(client, *types, version=version)

    for key in changed:
        assert await alter(client, name, key, None, DELETE) is ErrorCode.NONE
    await until_described(client, name, DEFAULTS)
    assert (CLIENT_METRICS_RESOURCE, name) not in await listed(client)


@everywhere
async def test_what_a_subscription_cannot_be(target: Target) -> None:
    client, name = target.client(), unique("metrics")
    for key, value, code in (
        ("other", "1", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "3600001", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "soon", ErrorCode.INVALID_CONFIG),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=[", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=x=y", ErrorCode.INVALID_CONFIG),
        ("match", "other=x", ErrorCode.INVALID_CONFIG),
    ):
        assert await alter(client, name, key, value) is code, (key, value)
    assert await alter(client, name, "metrics", "a", APPEND) is ErrorCode.INVALID_CONFIG
    assert await alter(client, "", "metrics", "a") is ErrorCode.INVALID_REQUEST
    assert await described(client, "") == {}
    assert await described(client, name) == DEFAULTS


@everywhere
async def test_every_kind_of_resource_is_listed(target: Target) -> None:
    client, topic, group_id = target.client(), await target.cluster.create_topic(), await target.new_group()
    everything = await until(lambda: listed(client), lambda found: (GROUP_RESOURCE, group_id) in found)
    wanted = [
        (GROUP_RESOURCE, group_id), (BROKER_LOGGER_RESOURCE, "1"), (BROKER_RESOURCE, "1"), (TOPIC_RESOURCE, topic.name),
    ]  # fmt: skip
    assert [each for each in everything if each in wanted] == wanted
    assert await listed(client, BROKER_RESOURCE) == [(BROKER_RESOURCE, "1")]
    response = await client.ask(ListConfigResourcesRequest(resource_types=(BROKER_RESOURCE, 64)))
    assert (response.error_code, response.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, ())
