"""The admin client: configurations of topics, brokers and groups, and the levels that they come from."""

from kafka_groups.admin import ConfigResource, ConfigSynonym, DescribedConfig
from kafka_groups.errors import (
    InvalidConfigError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import Target, everywhere

RETENTION = "retention.ms"


@everywhere
async def test_a_topic_has_its_own_values_and_those_of_other_levels(target: Target) -> None:
    topic = ConfigResource("topic", (await target.cluster.create_topic(configs={RETENTION: "60000"})).name)
    async with target.admin() as admin:
        found = (await admin.describe_configs([topic]))[topic]
        own = ConfigSynonym(RETENTION, "60000", "DYNAMIC_TOPIC_CONFIG")
        assert found[RETENTION] == DescribedConfig("60000", "DYNAMIC_TOPIC_CONFIG", is_set=True, synonyms=(own,))
        policy = found["cleanup.policy"]
        assert (policy.value, policy.source, policy.is_set) == ("delete", "DEFAULT_CONFIG", False)
        assert policy.synonyms == (ConfigSynonym("log.cleanup.policy", "delete", "DEFAULT_CONFIG"),)
        changes = {RETENTION: None, "cleanup.policy": "compact"}
        assert (await admin.alter_configs({topic: changes}, validate_only=True)).values == {topic: None}
        assert (await admin.describe_configs([topic]))[topic][RETENTION].value == "60000"
        assert (await admin.alter_configs({topic: changes})).values == {topic: None}
        changed = await until(lambda: admin.describe_configs([topic]), lambda it: not it[topic][RETENTION].is_set)
        assert changed[topic]["cleanup.policy"].value == "compact"
        assert changed[topic][RETENTION].source == "DEFAULT_CONFIG"


@everywhere
async def test_resources_of_all_kinds_are_described_and_changed_at_once(target: Target) -> None:
    topic = ConfigResource("topic", (await target.cluster.create_topic()).name)
    group = ConfigResource("group", unique("group"))
    everyone = ConfigResource("broker", "")
    async with target.admin() as admin:
        (broker,) = (await admin.describe_cluster()).brokers
        node = ConfigResource("broker", str(broker.node_id))
        found = await admin.describe_configs([topic, group, node, everyone])
        assert list(found.values) == [topic, group, node, everyone]
        assert found[node]["offsets.topic.num.partitions"].value == "1"
        assert found[node]["offsets.topic.num.partitions"].is_read_only
        assert not found[topic][RETENTION].is_read_only
        assert not found[group]["share.auto.offset.reset"].is_set
        done = await admin.alter_configs({
            topic: {"max.message.bytes": "2000"},
            group: {"share.auto.offset.reset": "earliest"},
        })  # fmt: skip
        assert done.values == {topic: None, group: None}
        changed = await until(
            lambda: admin.describe_configs([group, topic]),
            lambda it: it[group]["share.auto.offset.reset"].is_set and it[topic]["max.message.bytes"].is_set,
        )
        assert changed[group]["share.auto.offset.reset"].value == "earliest"
        assert changed[group]["share.auto.offset.reset"].source == "DYNAMIC_GROUP_CONFIG"
        assert changed[topic]["max.message.bytes"].value == "2000"


@everywhere
async def test_values_of_one_broker_and_of_all(target: Target) -> None:
    key, everyone = "message.max.bytes", ConfigResource("broker", "")
    async with target.admin() as admin:
        (broker,) = (await admin.describe_cluster()).brokers
        node = ConfigResource("broker", str(broker.node_id))
        try:
            (await admin.alter_configs({everyone: {key: "1000000"}})).checked()
            found = await until(lambda: admin.describe_configs([everyone]), lambda it: key in it[everyone])
            assert found[everyone][key].is_set
            assert found[everyone][key].source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
            (await admin.alter_configs({node: {key: "900000"}})).checked()
            both = await until(lambda: admin.describe_configs([node]), lambda it: it[node][key].value == "900000")
            assert both[node][key].is_set
            assert [each.source for each in both[node][key].synonyms][:2] == [
                "DYNAMIC_BROKER_CONFIG",
                "DYNAMIC_DEFAULT_BROKER_CONFIG",
            ]
        finally:
            (await admin.alter_configs({node: {key: None}, everyone: {key: None}})).checked()


@everywhere
async def test_each_resource_has_an_error_of_its_own(target: Target) -> None:
    topic = ConfigResource("topic", (await target.cluster.create_topic()).name)
    absent, nobody = ConfigResource("topic", unique("absent")), ConfigResource("broker", "4711")
    async with target.admin() as admin:
        found = await admin.describe_configs([topic, absent, nobody])
        assert list(found.values) == [topic]
        assert isinstance(found.errors[absent], UnknownTopicOrPartitionError)
        assert isinstance(found.errors[nobody], InvalidRequestError)
        assert "4711" in str(found.errors[nobody])
        done = await admin.alter_configs({
            topic: {"cleanup.policy": "never"}, absent: {RETENTION: "1"}, nobody: {"message.max.bytes": "1000"}
        })  # fmt: skip
        assert {key: type(error) for key, error in done.errors.items()} == {
            topic: InvalidConfigError,
            absent: UnknownTopicOrPartitionError,
            nobody: InvalidRequestError,
        }
