"""Dynamic configs of brokers: which may change, what they are defaults of, and how they are described."""

from typing import Any

import pytest

from kafka_groups.broker.configs import broker_changes
from kafka_groups.broker.configs.effective import append_rules, cleaning_rules
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    TOPIC_CONFIG,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    APPEND,
    DELETE,
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.broker.broker_services import HandlerBroker


def broker() -> HandlerBroker:
    """A broker with two topics, one of which has its own retention."""
    made = HandlerBroker(2, {})
    made.metadata.create_topic("t", 1, 1, {})
    made.metadata.create_topic("own", 1, 1, {"retention.ms": "5000"})
    return made


async def alter(made: HandlerBroker, name: str, key: str, value: str | None, op: int = SET) -> tuple[ErrorCode, str]:
    config = AlterableConfig(name=key, config_operation=op, value=value)
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name=name, configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (answer,) = (await made.ask(request, 1)).responses
    return answer.error_code, answer.error_message or ""


async def shown(made: HandlerBroker, kind: int, name: str) -> dict[str, Any]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    (result,) = (await made.ask(DescribeConfigsRequest(resources=(resource,)), 4)).results
    return {config.name: config for config in result.configs}


async def test_a_default_of_topics_counts_at_once_for_those_without_a_value_of_their_own() -> None:
    made = broker()
    assert (await alter(made, "0", "log.retention.ms", "1000000"))[0] is ErrorCode.NONE
    assert cleaning_rules(made.services.configs, "t").retention_ms == 1_000_000
    assert cleaning_rules(made.services.configs, "own").retention_ms == 5_000
    topic, own = await shown(made, TOPIC_RESOURCE, "t"), await shown(made, TOPIC_RESOURCE, "own")
    found = topic["retention.ms"]
    assert (found.value, found.config_source) == ("1000000", DYNAMIC_BROKER_CONFIG)
    assert (own["retention.ms"].value, own["retention.ms"].config_source) == ("5000", TOPIC_CONFIG)
    assert (await alter(made, "0", "log.retention.ms", None, DELETE))[0] is ErrorCode.NONE
    assert cleaning_rules(made.services.configs, "t").retention_ms == 604_800_000


async def test_the_defaults_of_appends() -> None:
    made = broker()
    for key, value in {
        "log.message.timestamp.type": "LogAppendTime",
        "message.max.bytes": "2000",
        "log.roll.ms": "60000",
        "log.segment.bytes": "2000000",
        "log.cleanup.policy": "compact",
    }.items():
        assert (await alter(made, "", key, value))[0] is ErrorCode.NONE
    rules = append_rules(made.services.configs, "t")
    assert (rules.log_append_time, rules.is_compacted) == (True, True)
    assert (rules.max_message_bytes, rules.segment_ms, rules.segment_bytes) == (2_000, 60_000, 2_000_000)
    assert cleaning_rules(made.services.configs, "t").compacts


async def test_a_negative_retention_is_for_ever_and_one_broker_overrides_all() -> None:
    made = broker()
    assert (await alter(made, "", "log.retention.ms", "-5"))[0] is ErrorCode.NONE
    assert cleaning_rules(made.services.configs, "t").retention_ms == -1
    assert (await alter(made, "0", "log.retention.ms", "7"))[0] is ErrorCode.NONE
    assert cleaning_rules(made.services.configs, "t").retention_ms == 7


async def test_lists_are_appended_to() -> None:
    made = broker()
    assert (await alter(made, "0", "log.cleanup.policy", "compact", APPEND))[0] is ErrorCode.NONE
    rules = cleaning_rules(made.services.configs, "t")
    assert (rules.compacts, rules.deletes) == (True, True)
    assert (await alter(made, "0", "log.retention.ms", "1", APPEND))[0] is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("broker_name", "key", "value", "code", "text"),
    [
        ("0", "node.id", "5", ErrorCode.INVALID_REQUEST, "Cannot update these configs dynamically: [node.id]"),
        ("0", "num.partitions", "5", ErrorCode.INVALID_REQUEST, "dynamically: [num.partitions]"),
        ("0", "super.users", "User:a", ErrorCode.INVALID_REQUEST, "dynamically: [super.users]"),
        ("0", "log.retention.ms", "abc", ErrorCode.INVALID_REQUEST, "Not a number of type LONG"),
        ("0", "ssl.keystore.password", "x", ErrorCode.INVALID_REQUEST, "using the listener prefix: [ssl.keystore.pass"),
        ("", "sasl.jaas.config", "x", ErrorCode.INVALID_REQUEST, "broker id must be specified: [sasl.jaas.config]"),
        ("0", "listeners", "PLAINTEXT://:1", ErrorCode.INVALID_REQUEST, "controller.listener.names must contain"),
        ("0", "min.insync.replicas", "2", ErrorCode.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be"),
        ("0", "min.insync.replicas", None, ErrorCode.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be"),
        ("", "min.insync.replicas", None, ErrorCode.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be rem"),
        ("9", "log.retention.ms", "1", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 0, but received 9"),
    ],
)
async def test_what_cannot_change(broker_name: str, key: str, value: str | None, code: ErrorCode, text: str) -> None:
    found = await alter(broker(), broker_name, key, value, SET if value is not None else DELETE)
    assert (found[0], text in found[1]) == (code, True), found


async def test_resetting_what_cannot_be_set_succeeds() -> None:
    assert (await alter(broker(), "0", "node.id", None, DELETE))[0] is ErrorCode.NONE


async def test_other_dynamic_configs_are_kept_described_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    made = broker()
    broker_changes._tell_without_effect.cache_clear()
    for value in ("500", "600"):
        assert (await alter(made, "0", "max.connections", value))[0] is ErrorCode.NONE
    found = (await shown(made, BROKER_RESOURCE, "0"))["max.connections"]
    assert (found.value, found.config_source, found.read_only) == ("600", DYNAMIC_BROKER_CONFIG, False)
    told = [record.getMessage() for record in caplog.records if "max.connections" in record.getMessage()]
    assert told == [
        "The config max.connections of a broker is kept and described. It has no effect on the embedded broker."
    ]


async def test_names_that_kafka_does_not_have_are_kept_and_described_without_a_value() -> None:
    made = broker()
    assert (await alter(made, "0", "no.such.key", "secret"))[0] is ErrorCode.NONE
    found = (await shown(made, BROKER_RESOURCE, "0"))["no.such.key"]
    assert (found.value, found.config_source, found.read_only) == (None, DYNAMIC_BROKER_CONFIG, True)
    assert (found.is_sensitive, found.config_type) == (True, 0)


async def test_a_new_cluster_has_a_value_for_min_insync_replicas() -> None:
    made = broker()
    for kind, name in ((BROKER_RESOURCE, "0"), (BROKER_RESOURCE, ""), (TOPIC_RESOURCE, "t")):
        found = (await shown(made, kind, name))["min.insync.replicas"]
        assert (found.value, found.config_source) == ("1", DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert (await alter(made, "", "min.insync.replicas", "2"))[0] is ErrorCode.NONE
    assert (await shown(made, TOPIC_RESOURCE, "t"))["min.insync.replicas"].value == "2"


async def test_the_id_of_a_broker_is_shown_and_fixed() -> None:
    found = (await shown(broker(), BROKER_RESOURCE, "0"))["node.id"]
    assert (found.value, found.read_only) == ("0", True)
