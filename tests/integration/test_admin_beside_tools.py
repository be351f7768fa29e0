"""The admin client and Kafka's own tools of 4.3.1 tell the same about one cluster: the embedded one, and a real Kafka.

Each tool's table is read into the facts that the admin client returns, and the two are compared.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest
from attrs import evolve
from confluent_kafka import Consumer, Producer

from kafka_groups import KafkaAdmin
from kafka_groups.acls import AclBinding
from kafka_groups.admin import (
    ClassicGroupDescription,
    ConfigResource,
    ConsumerGroupDescription,
    DescribedConfig,
    TopicToCreate,
    UserScramCredentialUpsertion,
)
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition, uuid_text
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_producer import OLD, RawProducer
from tests.support.requests.raw_client import RawClient
from tests.support.targets import EMBEDDED_PROPERTIES

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 30.0
SETTINGS: Mapping[str, str] = MappingProxyType({
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "transaction.partition.verification.enable": "false",
})  # fmt: skip
NONE = "-"
ACL = re.compile(r"\(principal=(.+), host=(.+), operation=(\w+), permissionType=(\w+)\)")
PATTERN = re.compile(r"resourceType=(\w+), name=(.+), patternType=(\w+)\)")
CONFIG = re.compile(r"  (?P<name>[\w.]+)=(?P<value>.*) sensitive=(?P<secret>\w+) synonyms=\{(?P<synonyms>.*)\}")


@pytest.fixture(scope="module", params=["embedded", "real"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        version = request.getfixturevalue("real_kafka").version
        with KafkaProcess(version, dict(SETTINGS)) as kafka:
            yield kafka.bootstrap_servers
        return
    with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, **SETTINGS}) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdmin]:
    with KafkaAdmin(bootstrap_servers=servers) as client:
        yield client


class Tools:
    """The tools, at one cluster."""

    def __init__(self, tools: KafkaTools, servers: str) -> None:
        self._tools = tools
        self._servers = servers

    def lines(self, tool: str, *arguments: str) -> list[str]:
        """The lines that a tool prints, without empty ones."""
        ran = self._tools.run(tool, "--bootstrap-server", self._servers, *arguments)
        assert ran.status == 0, ran
        return [line for line in ran.out.splitlines() if line.strip()]

    def rows(self, tool: str, *arguments: str) -> list[dict[str, str]]:
        """The rows of the table that a tool prints. No value of it may have spaces or be empty, but the last one."""
        head, *rows = [line.split() for line in self.lines(tool, *arguments)]
        return [dict(zip(head, row, strict=False)) for row in rows]


@pytest.fixture
def tools(kafka_tools: KafkaTools, servers: str) -> Tools:
    return Tools(kafka_tools, servers)


def new_topic(admin: KafkaAdmin, partitions: int = 1, configs: Mapping[str, str] = MappingProxyType({})) -> str:
    """A topic that its broker knows."""
    name = unique("topic")
    admin.create_topics({name: TopicToCreate(partitions, configs=configs)}).checked()
    wait_until(lambda: name in admin.describe_topics([name]).values)
    return name


# --------------------------------------------------------------------------------------- topics and configs


def test_topics(admin: KafkaAdmin, tools: Tools) -> None:
    name = new_topic(admin, 3, {"retention.ms": "60000"})
    topic = admin.describe_topics([name])[name]
    head, *partitions = [dict(re.findall(r"(\w+): (\S*)", line)) for line in described_topic(tools, name)]
    assert topic.topic_id is not None
    assert (head["TopicId"], head["PartitionCount"], head["ReplicationFactor"]) == (
        uuid_text(topic.topic_id),
        str(len(topic.partitions)),
        str(topic.replication_factor),
    )
    assert [(each["Partition"], each["Leader"], each["Replicas"], each["Isr"]) for each in partitions] == [
        (str(each.partition), str(each.leader), numbers(each.replicas), numbers(each.in_sync_replicas))
        for each in topic.partitions
    ]
    assert tools.lines("kafka-topics", "--list") == [each.name for each in admin.list_topics(include_internal=True)]


def described_topic(tools: Tools, name: str) -> list[str]:
    return tools.lines("kafka-topics", "--describe", "--topic", name)


def numbers(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


@pytest.mark.parametrize("kind", ["topic", "broker", "group"])
def test_configs(kind: str, admin: KafkaAdmin, tools: Tools) -> None:
    name = new_topic(admin, configs={"cleanup.policy": "compact,delete"}) if kind == "topic" else "1"
    resource = ConfigResource(kind, unique("group") if kind == "group" else name)  # type: ignore[arg-type]
    if kind == "group":
        admin.alter_configs({resource: {"share.auto.offset.reset": "earliest"}}).checked()
        wait_until(lambda: admin.describe_configs([resource])[resource]["share.auto.offset.reset"].is_set)
    entity = ("--entity-type", f"{kind}s", "--entity-name", resource.name)
    _, *lines = tools.lines("kafka-configs", "--describe", "--all", *entity)
    printed = {found["name"]: found for line in lines if (found := CONFIG.fullmatch(line))}
    assert len(printed) == len(lines) > 10
    configs = admin.describe_configs([resource])[resource]
    assert printed.keys() == configs.keys()
    for key, config in configs.items():
        assert printed[key]["value"] == str("null" if config.value is None else config.value), key
        assert printed[key]["secret"] == str(config.is_sensitive).lower(), key
        assert printed[key]["synonyms"] == synonyms(config), key


def synonyms(config: DescribedConfig) -> str:
    """The levels of a config, as the tool prints them."""
    return ", ".join(
        f"{each.source}:{each.name}={'null' if each.value is None else each.value}" for each in config.synonyms
    )


# ------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consumer_groups(protocol: str, servers: str, admin: KafkaAdmin, tools: Tools) -> None:
    topic, group = new_topic(admin, 2), unique("group")
    produced(servers, topic, 3)
    consumer = Consumer({
        "bootstrap.servers": servers, "group.id": group, "group.protocol": protocol, "enable.metrics.push": False,
        "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.error() is None
    consumer.commit(message=message, asynchronous=False)
    wait_until(lambda: admin.describe_groups([group])[group].state == "Stable")
    compare_group(group, topic, admin, tools)
    consumer.close()
    wait_until(lambda: admin.describe_groups([group])[group].state == "Empty")
    row = tools.rows("kafka-consumer-groups", "--describe", "--group", group)[0]
    [progress] = admin.describe_consumer_group_offsets([group])[group].values.values()
    assert (row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == (
        str(progress.offset), str(progress.end_offset), str(progress.lag)
    )  # fmt: skip


def compare_group(group: str, topic: str, admin: KafkaAdmin, tools: Tools) -> None:
    """Compare a group with one member: state, member, and progress in both partitions."""
    found = admin.describe_groups([group])[group]
    assert isinstance(found, ClassicGroupDescription | ConsumerGroupDescription)
    [member] = found.members
    places = [TopicPartition(topic, number) for number in range(2)]
    offsets = admin.describe_consumer_group_offsets({group: places})[group].checked().values
    about = ("--describe", "--group", group)
    rows = tools.rows("kafka-consumer-groups", *about)
    assert [(each["PARTITION"], each["CURRENT-OFFSET"], each["LOG-END-OFFSET"], each["LAG"]) for each in rows] == [
        (str(place.partition), text(offsets[place].offset), text(offsets[place].end_offset), text(offsets[place].lag))
        for place in places
    ]
    [printed] = tools.rows("kafka-consumer-groups", *about, "--members", "--verbose")
    assert printed["CONSUMER-ID"] == member.member_id
    assert sorted(member.assignment) == places
    [state] = tools.rows("kafka-consumer-groups", *about, "--state")
    strategy = found.protocol if isinstance(found, ClassicGroupDescription) else found.assignor
    assert (state["ASSIGNMENT-STRATEGY"], state["STATE"], state["#MEMBERS"]) == (strategy, found.state, "1")
    listed = {each.group_id: each for each in admin.list_groups().groups}
    shown = {row["GROUP"]: row for row in tools.rows("kafka-groups", "--list")}
    assert {name: (row["TYPE"].lower(), row.get("PROTOCOL", "")) for name, row in shown.items()} == {
        name: (each.type, each.protocol_type) for name, each in listed.items()
    }


def text(number: int | None) -> str:
    return NONE if number is None else str(number)


def produced(servers: str, topic: str, count: int) -> None:
    """Write records into the first partition."""
    producer = Producer({"bootstrap.servers": servers, "enable.metrics.push": False})
    for number in range(count):
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(PATIENCE_S) == 0


def test_share_groups(servers: str, admin: KafkaAdmin, tools: Tools) -> None:
    topic, group = new_topic(admin), unique("group")
    produced(servers, topic, 5)
    admin.alter_share_group_offsets(group, {TopicPartition(topic, 0): 2}).checked()
    [row] = tools.rows("kafka-share-groups", "--describe", "--group", group)
    [(place, progress)] = admin.describe_share_group_offsets([group])[group].values.items()
    assert (row["TOPIC"], row["PARTITION"], row["START-OFFSET"], row["LAG"]) == (
        place.topic, str(place.partition), text(progress.start_offset), text(progress.lag)
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- transactions


async def test_transactions(servers: str, kafka_tools: KafkaTools) -> None:
    tools, (host, _, port) = Tools(kafka_tools, servers), servers.rpartition(":")
    cluster = ClusterClient(TcpNetwork(), host, int(port))
    topic = await cluster.create_topic(2)
    await cluster.close()
    async with RawClient(TcpNetwork(), host, int(port)) as client:
        healthy, lost = RawProducer(client, unique("tx"), OLD), RawProducer(client, unique("tx"), OLD)
        for producer in (healthy, lost):
            await producer.find()
            assert await producer.init() == "NONE"
        assert await healthy.add(topic, 0) == {0: "NONE"}
        hour_ago = [NewRecord(b"1", timestamp_ms=SystemClock().wall_ms() - 3_600_000)]
        assert await healthy.send(topic, *hour_ago) == "NONE"
        assert await lost.send(topic, *hour_ago, partition=1) == "NONE"
    with KafkaAdmin(bootstrap_servers=servers) as admin:
        compare_transactions(admin, tools, topic.name, healthy.transactional_id)


def compare_transactions(admin: KafkaAdmin, tools: Tools, topic: str, name: str) -> None:
    listed = admin.list_transactions().transactions
    rows = tools.rows("kafka-transactions", "list")
    assert sorted((row["TransactionalId"], row["ProducerId"], row["TransactionState"]) for row in rows) == [
        (each.transactional_id, str(each.producer_id), each.state) for each in listed
    ]
    described = admin.describe_transactions([name])[name]
    [row] = tools.rows("kafka-transactions", "describe", "--transactional-id", name)
    assert (row["ProducerId"], row["ProducerEpoch"], row["TransactionState"], row["TransactionTimeoutMs"]) == (
        str(described.producer_id), str(described.producer_epoch), described.state, str(described.timeout_ms)
    )  # fmt: skip
    assert (row["CurrentTransactionStartTimeMs"], row["TopicPartitions"]) == (
        str(described.start_ms), ",".join(map(str, described.partitions))
    )  # fmt: skip
    for place in (TopicPartition(topic, 0), TopicPartition(topic, 1)):
        about = ("--topic", topic, "--partition", str(place.partition))
        [row] = tools.rows("kafka-transactions", "describe-producers", *about)
        [producer] = admin.describe_producers([place])[place]
        assert [row[key] for key in ("ProducerId", "ProducerEpoch", "LastSequence", "LastTimestamp")] == [
            str(each)
            for each in (
                producer.producer_id, producer.producer_epoch, producer.last_sequence, producer.last_timestamp_ms
            )
        ]  # fmt: skip
        assert row["CurrentTransactionStartOffset"] == str(producer.transaction_start_offset)
    hanging = admin.find_hanging_transactions([topic]).transactions
    rows = tools.rows("kafka-transactions", "find-hanging", "--topic", topic)
    assert [(row["Partition"], row["ProducerId"], row["ProducerEpoch"], row["StartOffset"]) for row in rows] == [
        (str(each.partition.partition), str(each.producer_id), str(each.producer_epoch), str(each.start_offset))
        for each in hanging
    ]
    assert [each.partition.partition for each in hanging] == [1]


# ---------------------------------------------------------------------------------------- ACLs and users


def test_acls(admin: KafkaAdmin, tools: Tools) -> None:
    read = AclBinding("topic", unique("orders"), "literal", "User:ann", "*", "read", "allow")
    bindings = [
        read,
        evolve(read, operation="alter-configs", permission="deny", host="10.0.0.0/8"),
        AclBinding("group", unique("in"), "prefixed", "User:*", "*", "all", "allow"),
        AclBinding("cluster", "kafka-cluster", "literal", "User:bob", "*", "idempotent-write", "allow"),
    ]
    admin.create_acls(bindings).checked()
    wait_until(lambda: set(bindings) <= set(admin.describe_acls()))
    assert printed_acls(tools, "--list") == list(admin.describe_acls())
    added = ("--add", "--force", "--allow-principal", "User:eve", "--operation", "Read", "--topic", read.name)
    tools.lines("kafka-acls", *added)
    of_eve = evolve(read, principal="User:eve")
    wait_until(lambda: of_eve in admin.describe_acls())


def printed_acls(tools: Tools, *arguments: str) -> list[AclBinding]:
    """The ACLs that the tool prints, sorted."""
    found, resource = list[AclBinding](), ("", "", "")
    for line in tools.lines("kafka-acls", *arguments):
        if pattern := PATTERN.search(line):
            resource = pattern[1], pattern[2], pattern[3]
        if acl := ACL.search(line):
            kind, name, pattern_type = resource
            found.append(AclBinding(kind, name, pattern_type, acl[1], acl[2], acl[3], acl[4]))
    return sorted(found)


def test_users(admin: KafkaAdmin, tools: Tools) -> None:
    user = unique("ann")
    for mechanism, iterations in (("SCRAM-SHA-256", 4_096), ("SCRAM-SHA-512", 8_192)):
        admin.alter_users([UserScramCredentialUpsertion(user, mechanism, "secret", iterations)]).checked()  # type: ignore[arg-type]
    wait_until(lambda: len(admin.describe_users([user])[user].iterations) == 2)
    [line] = tools.lines("kafka-configs", "--describe", "--entity-type", "users", "--entity-name", user)
    found = dict(re.findall(r"(SCRAM-SHA-\d+)=iterations=(\d+)", line))
    assert {name: int(number) for name, number in found.items()} == admin.describe_users([user])[user].iterations
