"""AlterConfigs: what a request does not name is reset."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_configs import AlterConfigsRequest, ConfigToKeep, ReplacedConfigs
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from tests.support.broker.broker_services import HandlerBroker, all_versions


def broker() -> HandlerBroker:
    """A broker with a topic that has two configs of its own."""
    made = HandlerBroker(2, {})
    made.metadata.create_topic("t", 1, 1, {"retention.ms": "5000", "flush.ms": "7"})
    return made


def replaced(kind: int, name: str, **values: str | None) -> ReplacedConfigs:
    configs = tuple(ConfigToKeep(name=key.replace("_", "."), value=value) for key, value in values.items())
    return ReplacedConfigs(resource_type=kind, resource_name=name, configs=configs)


async def answers(
    made: HandlerBroker, *resources: ReplacedConfigs, validate_only: bool = False, version: int = 2
) -> list[tuple[ErrorCode, str | None]]:
    response = await made.ask(AlterConfigsRequest(resources=resources, validate_only=validate_only), version)
    return [(each.error_code, each.error_message) for each in response.responses]


@pytest.mark.parametrize("version", all_versions(AlterConfigsRequest))
async def test_what_is_not_named_is_reset(version: int) -> None:
    made = broker()
    assert await answers(made, replaced(TOPIC_RESOURCE, "t", flush_ms="9"), version=version) == [(ErrorCode.NONE, None)]
    assert made.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {"flush.ms": "9"}
    assert await answers(made, replaced(TOPIC_RESOURCE, "t"), version=version) == [(ErrorCode.NONE, None)]
    assert made.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {}


async def test_a_check_changes_nothing() -> None:
    made = broker()
    assert await answers(made, replaced(TOPIC_RESOURCE, "t"), validate_only=True) == [(ErrorCode.NONE, None)]
    assert made.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {"retention.ms": "5000", "flush.ms": "7"}


@pytest.mark.parametrize(
    ("resource", "code", "text"),
    [
        (replaced(TOPIC_RESOURCE, "t", no_such="1"), ErrorCode.INVALID_CONFIG, "no.such"),
        (replaced(TOPIC_RESOURCE, "t", flush_ms="x"), ErrorCode.INVALID_CONFIG, "flush.ms"),
        (replaced(TOPIC_RESOURCE, "t", flush_ms=None), ErrorCode.INVALID_REQUEST, "Null value not supported for : fl"),
        (replaced(TOPIC_RESOURCE, "nosuch"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "nosuch"),
        (replaced(TOPIC_RESOURCE, ""), ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
        (replaced(GROUP_RESOURCE, ""), ErrorCode.INVALID_REQUEST, "group name is empty"),
        (replaced(77, "t"), ErrorCode.INVALID_REQUEST, "Unknown resource type 77"),
        (replaced(BROKER_RESOURCE, "0", node_id="5"), ErrorCode.INVALID_REQUEST, "dynamically: [node.id]"),
        (replaced(BROKER_RESOURCE, "9"), ErrorCode.INVALID_REQUEST, "expected 0, but received 9"),
        (replaced(BROKER_RESOURCE, ""), ErrorCode.INVALID_CONFIG, "cannot be removed while ELR is enabled"),
    ],
)
async def test_what_is_refused(resource: ReplacedConfigs, code: ErrorCode, text: str) -> None:
    made = broker()
    [(found, message)] = await answers(made, resource)
    assert (found, text in (message or "")) == (code, True), message
    assert made.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {"retention.ms": "5000", "flush.ms": "7"}


async def test_a_resource_that_is_there_twice_stays_as_it_is() -> None:
    made = broker()
    found = await answers(made, replaced(TOPIC_RESOURCE, "t"), replaced(TOPIC_RESOURCE, "t", flush_ms="1"))
    assert [code for code, _ in found] == [ErrorCode.INVALID_REQUEST] * 2
    assert made.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {"retention.ms": "5000", "flush.ms": "7"}
