from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.broker.configs.effective import append_rules
from kafka_groups.broker.profile import PROFILES
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
)
from tests.support.broker.broker_services import HandlerBroker, all_versions

SET, DELETE, APPEND, SUBTRACT = range(4)
NO_DEFAULTS = {"min.insync.replicas": 3, "broker.id": 4, "node.id": 4}
"""Configs that have a value from the beginning, with its source."""
NULLS = {
    "group.streams.topology.description.plugin.class", "log.flush.interval.ms", "log.retention.ms",
    "log.roll.jitter.ms", "log.roll.ms",
}  # fmt: skip
"""Configs of a broker without a default, in Kafka as here."""


async def describe(
    broker: HandlerBroker, kind: int, name: str, keys: tuple[str, ...] | None = None, version: int = 4, **fields: Any
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    (result,) = (await broker.ask(DescribeConfigsRequest(resources=(resource,), **fields), version)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    described: DescribeConfigsResult = result
    return described


async def entry(broker: HandlerBroker, kind: int, name: str, key: str) -> DescribeConfigsResourceResult:
    (config,) = (await describe(broker, kind, name, (key,), include_synonyms=True)).configs
    return config


def resource(kind: int, name: str, *changes: tuple[str, int, str | None]) -> AlterConfigsResource:
    configs = tuple(AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in changes)
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


async def alter(
    broker: HandlerBroker, *resources: AlterConfigsResource, version: int = 1, validate_only: bool = False
) -> list[AlterConfigsResourceResponse]:
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    return list((await broker.ask(request, version)).responses)


async def set_one(broker: HandlerBroker, kind: int, name: str, key: str, value: str | None, op: int = SET) -> ErrorCode:
    (response,) = await alter(broker, resource(kind, name, (key, op, value)))
    assert (response.error_message is None) is (response.error_code is ErrorCode.NONE)
    return response.error_code


def broker_with_topic(configs: Mapping[str, str] | None = None, **settings: object) -> HandlerBroker:
    broker = HandlerBroker(2, {key.replace("_", "."): value for key, value in settings.items()})
    broker.metadata.create_topic("t", 1, 1, configs or {})
    return broker


def values(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


# ------------------------------------------------------------------------------------------- describe


@pytest.mark.parametrize("version", all_versions(DescribeConfigsRequest))
@pytest.mark.parametrize(("kind", "name"), [(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, "0"), (GROUP_RESOURCE, "g")])
async def test_every_kind_in_every_version(version: int, kind: int, name: str) -> None:
    result = await describe(broker_with_topic(), kind, name, version=version)
    assert result.error_code is ErrorCode.NONE
    keys = [config.name for config in result.configs]
    expected = {
        TOPIC_RESOURCE: "retention.ms",
        BROKER_RESOURCE: "num.partitions",
        GROUP_RESOURCE: "share.auto.offset.reset",
    }
    assert expected[kind] in keys
    assert len(keys) == len(set(keys))
    for config in result.configs:
        assert config.config_source == NO_DEFAULTS.get(config.name, 5)
        assert config.synonyms == ()
        assert config.value is not None or config.name in NULLS
        assert (config.config_type > 0) is (version >= 3)


async def test_only_the_keys_asked_for() -> None:
    result = await describe(broker_with_topic(), TOPIC_RESOURCE, "t", ("retention.ms", "nope"))
    assert [config.name for config in result.configs] == ["retention.ms"]
    everything = await describe(broker_with_topic(), TOPIC_RESOURCE, "t", ())
    assert len(everything.configs) > 5


async def test_documentation_when_asked_for() -> None:
    silent = await describe(broker_with_topic(), TOPIC_RESOURCE, "t", ("retention.ms",))
    assert silent.configs[0].documentation is None
    told = await describe(broker_with_topic(), TOPIC_RESOURCE, "t", ("retention.ms",), include_documentation=True)
    assert "How long records are kept" in (told.configs[0].documentation or "")


async def test_where_a_topics_value_comes_from() -> None:
    broker = broker_with_topic(message_max_bytes=2_000_000)
    key = "max.message.bytes"
    static = [("message.max.bytes", "2000000", 4), ("message.max.bytes", "1048588", 5)]
    config = await entry(broker, TOPIC_RESOURCE, "t", key)
    assert (config.value, config.config_source, values(config)) == ("2000000", 4, static)
    assert await set_one(broker, BROKER_RESOURCE, "", "message.max.bytes", "3000") is ErrorCode.NONE
    config = await entry(broker, TOPIC_RESOURCE, "t", key)
    assert values(config) == [("message.max.bytes", "3000", 3), *static]
    assert await set_one(broker, BROKER_RESOURCE, "0", "message.max.bytes", "4000") is ErrorCode.NONE
    config = await entry(broker, TOPIC_RESOURCE, "t", key)
    assert values(config)[0] == ("message.max.bytes", "4000", 2)
    assert await set_one(broker, TOPIC_RESOURCE, "t", key, "5000") is ErrorCode.NONE
    config = await entry(broker, TOPIC_RESOURCE, "t", key)
    assert (config.value, config.config_source) == ("5000", 1)
    assert [source for _, _, source in values(config)] == [1, 2, 3, 4, 5]


async def test_where_a_groups_value_comes_from() -> None:
    broker = HandlerBroker(settings={"group.share.delivery.count.limit": 7})
    config = await entry(broker, GROUP_RESOURCE, "g", "share.delivery.count.limit")
    assert (config.value, config.config_source) == ("7", 4)
    assert await set_one(broker, GROUP_RESOURCE, "g", "share.delivery.count.limit", "3") is ErrorCode.NONE
    config = await entry(broker, GROUP_RESOURCE, "g", "share.delivery.count.limit")
    assert (config.value, config.config_source, config.read_only) == ("3", 8, False)
    assert values(config) == [
        ("share.delivery.count.limit", "3", 8),
        ("group.share.delivery.count.limit", "7", 4),
        ("group.share.delivery.count.limit", "5", 5),
    ]


async def test_a_groups_value_that_brokers_have_no_key_for() -> None:
    config = await entry(HandlerBroker(), GROUP_RESOURCE, "g", "share.auto.offset.reset")
    assert values(config) == [("share.auto.offset.reset", "latest", 5)]


async def test_a_groups_value_comes_back_without_spaces() -> None:
    broker = HandlerBroker()
    for key, given, shown in (
        ("share.heartbeat.interval.ms", " 6000 ", "6000"),
        ("share.renew.acknowledge.enable", " FALSE", "false"),
        ("share.isolation.level", "read_committed ", "read_committed"),
    ):
        assert await set_one(broker, GROUP_RESOURCE, "g", key, given) is ErrorCode.NONE
        config = await entry(broker, GROUP_RESOURCE, "g", key)
        assert (config.value, values(config)[0]) == (shown, (key, shown, 8))


async def test_a_topics_value_that_nobody_checked_comes_back_as_it_is() -> None:
    config = await entry(broker_with_topic({"retention.ms": "soon"}), TOPIC_RESOURCE, "t", "retention.ms")
    assert config.value == "soon"


async def test_configs_of_a_group_in_a_release_that_does_not_name_the_brokers() -> None:
    broker = HandlerBroker(settings={"group.share.session.timeout.ms": 50_000}, profile=PROFILES["4.2"])
    config = await entry(broker, GROUP_RESOURCE, "g", "share.session.timeout.ms")
    assert (config.value, values(config)) == ("50000", [("share.session.timeout.ms", "50000", 5)])
    await set_one(broker, GROUP_RESOURCE, "g", "share.session.timeout.ms", "55000")
    config = await entry(broker, GROUP_RESOURCE, "g", "share.session.timeout.ms")
    assert (config.value, values(config)) == ("55000", [("share.session.timeout.ms", "55000", 8)])


async def test_configs_of_a_later_release_are_unknown() -> None:
    broker = HandlerBroker(profile=PROFILES["4.2"])
    assert (await describe(broker, GROUP_RESOURCE, "g", ("share.delivery.count.limit",))).configs == ()
    assert (await describe(broker, BROKER_RESOURCE, "0", ("group.share.assignment.interval.ms",))).configs == ()
    assert await set_one(broker, GROUP_RESOURCE, "g", "share.delivery.count.limit", "3") is ErrorCode.INVALID_CONFIG
    # Any unknown key of a broker is kept.
    assert await set_one(broker, BROKER_RESOURCE, "", "group.share.assignment.interval.ms", "x") is ErrorCode.NONE


async def test_internal_configs_are_not_described() -> None:
    result = await describe(HandlerBroker(), BROKER_RESOURCE, "0", ("group.share.initialize.retry.interval.ms",))
    assert result.configs == ()


async def test_a_brokers_configs() -> None:
    broker = HandlerBroker(2, {"num.partitions": 6})
    config = await entry(broker, BROKER_RESOURCE, "0", "num.partitions")
    assert (config.value, config.config_source, config.read_only) == ("6", 4, True)
    assert (await entry(broker, BROKER_RESOURCE, "0", "message.max.bytes")).read_only is False
    of_new_cluster = ("min.insync.replicas", "1")
    assert [(c.name, c.value) for c in (await describe(broker, BROKER_RESOURCE, "")).configs] == [of_new_cluster]
    await set_one(broker, BROKER_RESOURCE, "", "message.max.bytes", "3000")
    assert [(c.name, c.value) for c in (await describe(broker, BROKER_RESOURCE, "")).configs] == [
        of_new_cluster,
        ("message.max.bytes", "3000"),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC_RESOURCE, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC_RESOURCE, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER_RESOURCE, "1", ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "x", ErrorCode.INVALID_REQUEST),
        (GROUP_RESOURCE, "", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS_RESOURCE, "", ErrorCode.INVALID_REQUEST),
        (64, "other", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_has_no_configs(kind: int, name: str, code: ErrorCode) -> None:
    result = await describe(broker_with_topic(), kind, name)
    assert (result.error_code, result.configs) == (code, ())
    assert result.error_message


# ---------------------------------------------------------------------------------------------- alter


@pytest.mark.parametrize("version", all_versions(IncrementalAlterConfigsRequest))
async def test_values_are_set_and_taken_back_in_every_version(version: int) -> None:
    broker = broker_with_topic()
    (done,) = await alter(broker, resource(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5")), version=version)
    assert (done.error_code, done.resource_type, done.resource_name) == (ErrorCode.NONE, TOPIC_RESOURCE, "t")
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {"retention.ms": "5"}
    await alter(broker, resource(TOPIC_RESOURCE, "t", ("retention.ms", DELETE, None)), version=version)
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {}


async def test_lists_grow_and_shrink() -> None:
    broker = broker_with_topic()
    key = "cleanup.policy"

    async def now(op: int, value: str) -> str | None:
        assert await set_one(broker, TOPIC_RESOURCE, "t", key, value, op) is ErrorCode.NONE
        return broker.metadata.configs.config_value(TOPIC_RESOURCE, "t", key)

    assert await now(APPEND, "compact") == "delete,compact"
    assert await now(APPEND, "compact,delete") == "delete,compact"
    assert await now(SUBTRACT, "delete") == "compact"


@pytest.mark.parametrize(
    ("kind", "name", "key", "value", "op", "code"),
    [
        (TOPIC_RESOURCE, "t", "retention.days", "1", SET, ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", "retention.ms", "soon", SET, ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", "retention.ms", "-2", SET, ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", "retention.ms", None, SET, ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "t", "retention.ms", "5", APPEND, ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "t", "retention.ms", "5", 4, ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "t", "cleanup.policy", "shred", APPEND, ErrorCode.INVALID_CONFIG),
        (TOPIC_RESOURCE, "nope", "retention.ms", "5", SET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC_RESOURCE, "a b", "retention.ms", "5", SET, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (GROUP_RESOURCE, "g", "share.nothing", "5", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", "group.share.delivery.count.limit", "5", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", "share.delivery.count.limit", "11", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", "share.delivery.count.limit", "1", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", "share.record.lock.duration.ms", "60001", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "g", "share.auto.offset.reset", "middle", SET, ErrorCode.INVALID_CONFIG),
        (GROUP_RESOURCE, "", "share.delivery.count.limit", "5", SET, ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", "num.partitions", "5", SET, ErrorCode.INVALID_REQUEST),
        (BROKER_RESOURCE, "0", "message.max.bytes", "-1", SET, ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "", "retention.ms", "5", SET, ErrorCode.INVALID_REQUEST),
        (TOPIC_RESOURCE, "t", "retention.days", "1", APPEND, ErrorCode.INVALID_CONFIG),
        (BROKER_RESOURCE, "9", "message.max.bytes", "5", SET, ErrorCode.INVALID_REQUEST),
        (16, "metrics", "interval.ms", "5", SET, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_refused_changes(kind: int, name: str, key: str, value: str | None, op: int, code: ErrorCode) -> None:
    broker = broker_with_topic()
    assert await set_one(broker, kind, name, key, value, op) is code
    assert broker.metadata.configs.overrides(kind, name) == {}


async def test_a_resource_is_altered_as_a_whole_or_not_at_all() -> None:
    broker = broker_with_topic()
    broker.metadata.create_topic("u")
    refused, done = await alter(
        broker,
        resource(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "x")),
        resource(TOPIC_RESOURCE, "u", ("retention.ms", SET, "5")),
    )
    assert (refused.error_code, done.error_code) == (ErrorCode.INVALID_CONFIG, ErrorCode.NONE)
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {}
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "u") == {"retention.ms": "5"}


@pytest.mark.parametrize(("kind", "name"), [(TOPIC_RESOURCE, "t"), (GROUP_RESOURCE, "g"), (BROKER_RESOURCE, "0")])
async def test_taking_back_what_is_not_there_is_no_error(kind: int, name: str) -> None:
    assert await set_one(broker_with_topic(), kind, name, "no.such.key", None, DELETE) is ErrorCode.NONE


async def test_unknown_keys_of_a_broker_are_kept_as_in_kafka() -> None:
    broker = broker_with_topic()
    assert await set_one(broker, BROKER_RESOURCE, "0", "plugin.key", "5") is ErrorCode.NONE
    assert broker.metadata.configs.overrides(BROKER_RESOURCE, "0") == {"plugin.key": "5"}


async def test_synonyms_have_the_brokers_names() -> None:
    broker = broker_with_topic({"segment.bytes": "2000000", "retention.ms": "5"})
    assert values(await entry(broker, TOPIC_RESOURCE, "t", "segment.bytes")) == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    assert values(await entry(broker, TOPIC_RESOURCE, "t", "retention.ms")) == [("retention.ms", "5", 1)]
    untouched = await entry(broker, TOPIC_RESOURCE, "t", "segment.ms")
    assert (untouched.value, untouched.config_source, values(untouched)) == ("604800000", 5, [])


async def test_values_of_a_group_must_go_together() -> None:
    broker = HandlerBroker(settings={"group.share.min.session.timeout.ms": 1_000})
    assert await set_one(broker, GROUP_RESOURCE, "g", "share.heartbeat.interval.ms", "15000") is ErrorCode.NONE
    assert await set_one(broker, GROUP_RESOURCE, "g", "share.session.timeout.ms", "15000") is ErrorCode.INVALID_CONFIG
    (both,) = await alter(
        broker,
        resource(
            GROUP_RESOURCE,
            "g",
            ("share.heartbeat.interval.ms", DELETE, None),
            ("share.session.timeout.ms", SET, "15000"),
        ),
    )
    assert both.error_code is ErrorCode.NONE
    assert broker.metadata.configs.overrides(GROUP_RESOURCE, "g") == {"share.session.timeout.ms": "15000"}


async def test_validation_changes_nothing() -> None:
    broker = broker_with_topic()
    good, bad = await alter(
        broker,
        resource(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5")),
        resource(GROUP_RESOURCE, "g", ("share.nothing", SET, "5")),
        validate_only=True,
    )
    assert (good.error_code, bad.error_code) == (ErrorCode.NONE, ErrorCode.INVALID_CONFIG)
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {}


async def test_repetitions_are_refused() -> None:
    broker = broker_with_topic()
    one = resource(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"))
    assert [r.error_code for r in await alter(broker, one, one)] == [ErrorCode.INVALID_REQUEST] * 2
    twice = resource(TOPIC_RESOURCE, "t", ("retention.ms", SET, "5"), ("retention.ms", SET, "6"))
    assert [r.error_code for r in await alter(broker, twice)] == [ErrorCode.INVALID_REQUEST]
    assert broker.metadata.configs.overrides(TOPIC_RESOURCE, "t") == {}


async def test_appends_follow_the_configs() -> None:
    broker = broker_with_topic()
    assert append_rules(broker.services.configs, "t").max_message_bytes == 1_048_588
    await set_one(broker, BROKER_RESOURCE, "", "message.max.bytes", "3000")
    assert append_rules(broker.services.configs, "t").max_message_bytes == 3_000
    await set_one(broker, TOPIC_RESOURCE, "t", "max.message.bytes", "2000")
    await set_one(broker, TOPIC_RESOURCE, "t", "message.timestamp.type", "LogAppendTime")
    rules = append_rules(broker.services.configs, "t")
    assert (rules.max_message_bytes, rules.log_append_time) == (2_000, True)
