"""What is done with Kafka's command-line tools, in scenes that run on any broker.

A step is a command, which gets the broker's address as `--bootstrap-server` unless it names it (`SERVER`), or something
that a client does. Text after `<<<` is the command's standard input. Each scene has topics and groups of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType

from attrs import field, frozen
from confluent_kafka import Consumer, Producer

from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.share import KafkaShareConsumer
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.requests.raw_client import RawClient

SERVER = "SERVER"
"""Where a command wants the address."""
PATIENCE_S = 30


@frozen
class Stage:
    """A broker, and the clients that a scene has on it.

    Attributes:
        server: The broker's address.
        clients: Closes them.
    """

    server: str
    clients: ExitStack = field(factory=ExitStack)


Step = str | Callable[[Stage], object]
Scene = tuple[Step, ...]


def produce(topic: str, records: int = 6) -> Callable[[Stage], None]:
    """Produce to two partitions in turn."""

    def step(stage: Stage) -> None:
        producer = Producer({"bootstrap.servers": stage.server})
        now_ms = SystemClock().wall_ms()
        for number in range(records):
            producer.produce(topic, f"value {number}", partition=number % 2, timestamp=now_ms + number)
        assert producer.flush(PATIENCE_S) == 0

    return step


def share(topic: str, group_id: str, records: int = 6) -> Callable[[Stage], None]:
    """Join a share group, accept so many records and stay."""

    def step(stage: Stage) -> None:
        consumer = KafkaShareConsumer(bootstrap_servers=stage.server, group_id=group_id, client_id="a client")
        stage.clients.callback(consumer.close)
        consumer.subscribe([topic])
        read = 0
        while read < records:
            read += len(consumer.poll(PATIENCE_S))
        consumer.commit_sync()

    return step


def consume(topic: str, group_id: str, records: int = 6, protocol: str = "classic") -> Callable[[Stage], None]:
    """Join a group by this protocol, consume and commit so many records and stay."""

    def step(stage: Stage) -> None:
        keys = {"bootstrap.servers": stage.server, "group.id": group_id, "auto.offset.reset": "earliest"}
        consumer = Consumer({**keys, "client.id": "a client", "enable.auto.commit": False, "group.protocol": protocol})
        stage.clients.callback(consumer.close)
        consumer.subscribe([topic])
        assert all(consumer.poll(PATIENCE_S) is not None for _ in range(records))
        consumer.commit(asynchronous=False)

    return step


def count(topic: str, group_id: str, records: int = 6) -> Callable[[Stage], None]:
    """Join a streams group that counts words, commit that half of each of two partitions is processed, and stay."""
    words, counts = f"{group_id}-words-repartition", f"{group_id}-counts-changelog"
    topology = sent(
        subtopology("0", sources=(topic,), sinks=(words,)),
        subtopology("1", repartitions=(internal(words),), changelogs=(internal(counts),)),
    )

    async def work(client: RawClient) -> None:
        member = StreamsMember(client, group_id, "member-1")
        beat = await until(lambda: member.join(topology), lambda it: bool(it.active))
        await member.beat(owned=beat.active)
        for number in range(2):
            assert await member.commit(topic, number, offset=records // 4) == "NONE"

    def step(stage: Stage) -> None:
        asyncio.run(at_coordinator(stage.server, group_id, work))
        stage.clients.callback(lambda: asyncio.run(at_coordinator(stage.server, group_id, gone)))

    async def gone(client: RawClient) -> None:
        assert (await StreamsMember(client, group_id, "member-1").leave()).error == "NONE"

    return step


async def at_coordinator(server: str, group_id: str, work: Callable[[RawClient], Awaitable[None]]) -> None:
    """Do some work over a connection to the coordinator of a group."""
    ((host, port),) = read_host_ports(server)
    asking = ClusterClient(TcpNetwork(), host, port)
    await asking.coordinator_of(group_id)
    await asking.close()
    async with RawClient(TcpNetwork(), host, port) as client:
        await work(client)


def leave(stage: Stage) -> None:
    """Close the clients."""
    stage.clients.close()


TOPICS: Scene = (
    "kafka-topics --create --topic orders --partitions 2",
    "kafka-topics --create --topic configured --config retention.ms=1000 --config cleanup.policy=compact",
    "kafka-topics --create --topic tuned --config flush.ms=1000 --config segment.index.bytes=1024",
    "kafka-topics --create --topic untuned --config flush.ms=-1",
    "kafka-topics --create --topic orders",
    "kafka-topics --create --topic orders --if-not-exists",
    "kafka-topics --create --topic bad/name",
    "kafka-topics --create --topic placed --replica-assignment 1,1,1",
    "kafka-topics --create --topic none --partitions 0",
    "kafka-topics --create --topic far --replication-factor 2",
    "kafka-topics --create --topic strange --config no.such=1",
    "kafka-topics --list",
    "kafka-topics --list --exclude-internal",
    "kafka-topics --list --topic ord.*",
    "kafka-topics --describe",
    "kafka-topics --describe --topic orders",
    "kafka-topics --describe --topics-with-overrides --topic configured",
    "kafka-topics --describe --under-replicated-partitions",
    "kafka-topics --describe --unavailable-partitions",
    "kafka-topics --describe --under-min-isr-partitions",
    "kafka-topics --describe --at-min-isr-partitions --topic orders",
    "kafka-topics --describe --topic missing",
    "kafka-topics --describe --topic missing --if-exists",
    "kafka-topics --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ",
    "kafka-topics --alter --topic orders --partitions 3",
    "kafka-topics --alter --topic orders --partitions 1",
    "kafka-topics --alter --topic missing --partitions 3",
    "kafka-topics --describe --topic orders",
    "kafka-topics --delete --topic placed",
    "kafka-topics --delete --topic placed",
    "kafka-topics --delete --topic placed --if-exists",
    "kafka-topics --list",
)

OFFSETS: Scene = (
    "kafka-topics --create --topic positions --partitions 2",
    produce("positions"),
    "kafka-get-offsets --topic positions",
    "kafka-get-offsets --topic pos.*",
    *(f"kafka-get-offsets --topic positions --time {time}" for time in ("earliest", "latest", "0", "-3", "-4", "-5")),
    "kafka-get-offsets --topic positions --time -6",
    "kafka-get-offsets --topic-partitions positions:0",
    "kafka-get-offsets --topic-partitions positions:0-1",
    "kafka-get-offsets --topic positions --partitions 1",
    "kafka-get-offsets --topic positions --exclude-internal-topics",
    "kafka-get-offsets --topic missing",
    "kafka-get-offsets --topic positions --partitions 9",
)

SHARE_GROUPS: Scene = (
    "kafka-topics --create --topic shared --partitions 2",
    "kafka-topics --create --topic other",
    produce("shared"),
    "kafka-configs --alter --entity-type groups --entity-name sharing --add-config share.auto.offset.reset=earliest",
    share("shared", "sharing"),
    "kafka-share-groups --list",
    "kafka-share-groups --list --state",
    "kafka-share-groups --list --state empty",
    "kafka-share-groups --list --state Stable,Empty",
    "kafka-share-groups --list --state sleeping",
    "kafka-groups --list --share",
    "kafka-share-groups --describe --group sharing",
    "kafka-share-groups --describe --group sharing --verbose",
    "kafka-share-groups --describe --group sharing --offsets",
    "kafka-share-groups --describe --group sharing --members",
    "kafka-share-groups --describe --group sharing --members --verbose",
    "kafka-share-groups --describe --group sharing --state",
    "kafka-share-groups --describe --group sharing --state --verbose",
    "kafka-share-groups --describe --all-groups",
    "kafka-share-groups --describe --group missing",
    "kafka-share-groups --delete --group sharing",
    "kafka-share-groups --delete-offsets --group sharing --topic shared",
    "kafka-share-groups --reset-offsets --group sharing --topic shared --to-earliest --execute",
    "kafka-consumer-groups --describe --group sharing",
    leave,
    "kafka-share-groups --describe --group sharing",
    "kafka-share-groups --describe --group sharing --members",
    "kafka-share-groups --describe --group sharing --state",
    "kafka-share-groups --reset-offsets --group sharing --topic shared --to-earliest --dry-run",
    "kafka-share-groups --reset-offsets --group sharing --topic shared --to-earliest --execute",
    "kafka-share-groups --describe --group sharing",
    "kafka-share-groups --reset-offsets --group sharing --topic shared:1 --to-latest --execute",
    "kafka-share-groups --reset-offsets --group sharing --all-topics --to-datetime 2020-01-01T00:00:00.000 --execute",
    "kafka-share-groups --reset-offsets --group sharing --topic missing --to-latest --execute",
    "kafka-share-groups --reset-offsets --group missing --topic shared --to-latest --execute",
    "kafka-share-groups --describe --group sharing",
    "kafka-share-groups --delete-offsets --group sharing --topic shared",
    "kafka-share-groups --delete-offsets --group sharing --topic other",
    "kafka-share-groups --delete-offsets --group sharing --topic missing",
    "kafka-share-groups --describe --group sharing",
    "kafka-share-groups --delete --group sharing --group missing",
    "kafka-share-groups --delete --group missing",
    "kafka-share-groups --delete --all-groups",
    "kafka-share-groups --list",
)

CONSUMER_GROUPS: Scene = (
    "kafka-topics --create --topic bills --partitions 2",
    produce("bills"),
    consume("bills", "billing"),
    "kafka-consumer-groups --list",
    "kafka-consumer-groups --list --state",
    "kafka-consumer-groups --list --type",
    "kafka-consumer-groups --list --state Stable --type classic",
    "kafka-consumer-groups --list --state sleeping",
    "kafka-groups --list",
    "kafka-groups --list --consumer",
    "kafka-groups --list --streams",
    "kafka-groups --list --group-type classic",
    "kafka-groups --list --group-type strange",
    "kafka-groups --list --protocol consumer",
    *(
        f"kafka-consumer-groups --describe --group billing {options}"
        for options in (
            "",
            "--verbose",
            "--offsets",
            "--members",
            "--members --verbose",
            "--state",
            "--state --verbose",
        )
    ),
    "kafka-consumer-groups --describe --all-groups",
    "kafka-consumer-groups --describe --all-groups --state",
    "kafka-consumer-groups --describe --group missing",
    "kafka-consumer-groups --delete --group billing",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills --to-earliest --execute",
    "kafka-consumer-groups --delete-offsets --group billing --topic bills",
    "kafka-share-groups --describe --group billing",
    leave,
    "kafka-consumer-groups --describe --group billing",
    "kafka-consumer-groups --describe --group billing --members",
    "kafka-consumer-groups --describe --group billing --state",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills --to-earliest --dry-run",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills --to-earliest --execute",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills --to-latest --execute",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills:0 --shift-by -1 --execute",
    "kafka-consumer-groups --reset-offsets --group billing --all-topics --to-offset 1 --execute",
    "kafka-consumer-groups --reset-offsets --group billing --topic bills --to-datetime 2020-01-01T00:00:00Z --execute",
    "kafka-consumer-groups --reset-offsets --group billing --all-topics --by-duration PT1H --execute",
    "kafka-consumer-groups --reset-offsets --group billing --all-topics --to-current --export --dry-run",
    "kafka-consumer-groups --reset-offsets --group new --topic bills --to-earliest --execute",
    "kafka-consumer-groups --reset-offsets --group billing --topic missing --to-earliest --execute",
    "kafka-consumer-groups --validate-regex b.*",
    "kafka-consumer-groups --describe --group billing",
    "kafka-consumer-groups --delete-offsets --group billing --topic bills:0",
    "kafka-consumer-groups --delete-offsets --group billing --topic bills",
    "kafka-consumer-groups --delete-offsets --group billing --topic missing",
    "kafka-consumer-groups --delete --group new --group missing",
    "kafka-consumer-groups --delete --group billing",
    "kafka-groups --list",
)

CONSUMER_PROTOCOL: Scene = (
    "kafka-topics --create --topic modern --partitions 2",
    produce("modern"),
    consume("modern", "new", protocol="consumer"),
    "kafka-consumer-groups --list --type consumer",
    "kafka-consumer-groups --list --state",
    "kafka-groups --list --group-type consumer",
    *(
        f"kafka-consumer-groups --describe --group new {options}"
        for options in (
            "",
            "--verbose",
            "--offsets",
            "--members",
            "--members --verbose",
            "--state",
            "--state --verbose",
        )
    ),
    "kafka-consumer-groups --delete --group new",
    "kafka-consumer-groups --reset-offsets --group new --topic modern --to-earliest --execute",
    "kafka-consumer-groups --delete-offsets --group new --topic modern",
    leave,
    "kafka-consumer-groups --describe --group new --state",
    "kafka-consumer-groups --reset-offsets --group new --topic modern --to-earliest --execute",
    "kafka-consumer-groups --describe --group new",
    "kafka-console-consumer --topic modern --max-messages 6 --group new --command-property group.protocol=consumer",
    "kafka-consumer-groups --delete --group new",
    (
        "kafka-verifiable-consumer --topic modern --group-id newer --max-messages 6 --reset-policy earliest "
        "--group-protocol consumer --group-remote-assignor range"
    ),
    "kafka-consumer-groups --describe --group newer --offsets",
    "kafka-consumer-groups --delete --group newer",
)

_RESET = "kafka-streams-groups --reset-offsets --group counting"

STREAMS_GROUPS: Scene = (
    "kafka-topics --create --topic lines --partitions 2",
    "kafka-topics --create --topic other",
    produce("lines"),
    (
        "kafka-configs --alter --entity-type groups --entity-name counting "
        "--add-config streams.session.timeout.ms=60000,streams.initial.rebalance.delay.ms=0"
    ),
    "kafka-configs --describe --entity-type groups --entity-name counting",
    count("lines", "counting"),
    "kafka-streams-groups --list",
    "kafka-streams-groups --list --state",
    "kafka-streams-groups --list --state empty",
    "kafka-streams-groups --list --state Stable,NotReady",
    "kafka-streams-groups --list --state sleeping",
    "kafka-groups --list --streams",
    *(
        f"kafka-streams-groups --describe --group counting {options}"
        for options in (
            "",
            "--verbose",
            "--offsets",
            "--offsets --verbose",
            "--members",
            "--members --verbose",
            "--state",
            "--state --verbose",
        )
    ),
    "kafka-streams-groups --describe --all-groups",
    "kafka-streams-groups --describe --group missing",
    "kafka-streams-groups --delete --group counting",
    "kafka-streams-groups --delete-offsets --group counting --input-topic lines",
    "kafka-streams-groups --delete-offsets --group counting --all-input-topics",
    f"{_RESET} --all-input-topics --to-earliest --execute",
    "kafka-consumer-groups --describe --group counting",
    leave,
    "kafka-streams-groups --describe --group counting",
    "kafka-streams-groups --describe --group counting --members",
    "kafka-streams-groups --describe --group counting --state --verbose",
    f"{_RESET} --all-input-topics --to-earliest --dry-run",
    f"{_RESET} --all-input-topics --to-latest --execute",
    f"{_RESET} --all-input-topics --shift-by -1 --execute",
    f"{_RESET} --all-input-topics --to-current --export --dry-run",
    f"{_RESET} --input-topic lines:0 --to-offset 1 --execute",
    f"{_RESET} --input-topic lines --to-offset 99 --dry-run",
    f"{_RESET} --input-topic lines --to-datetime 2020-01-01T00:00:00.000 --execute",
    f"{_RESET} --all-input-topics --by-duration PT1H --dry-run",
    f"{_RESET} --input-topic other --to-latest --execute",
    f"{_RESET} --input-topic missing --to-latest --execute",
    f"{_RESET} --all-input-topics --to-latest --execute --delete-internal-topic counting-counts-changelog",
    "kafka-streams-groups --reset-offsets --group missing --all-input-topics --to-latest --execute",
    "kafka-streams-groups --describe --group counting --offsets --verbose",
    "kafka-streams-groups --delete-offsets --group counting --input-topic missing",
    "kafka-streams-groups --delete-offsets --group counting --input-topic lines",
    "kafka-streams-groups --delete-offsets --group counting --all-input-topics",
    "kafka-streams-groups --delete --group counting --group missing",
    "kafka-streams-groups --delete --group counting --delete-all-internal-topics",
    "kafka-streams-groups --list",
    "kafka-topics --list --topic counting.*",
)

CONFIGS: Scene = (
    "kafka-topics --create --topic settled --partitions 2",
    "kafka-configs --describe --entity-type topics --entity-name settled",
    (
        "kafka-configs --alter --entity-type topics --entity-name settled "
        "--add-config retention.ms=1000,cleanup.policy=[compact,delete]"
    ),
    "kafka-configs --describe --entity-type topics --entity-name settled",
    "kafka-configs --describe --entity-type topics --entity-name settled --all",
    "kafka-configs --describe --entity-type topics",
    "kafka-configs --alter --entity-type topics --entity-name settled --delete-config retention.ms",
    "kafka-configs --alter --entity-type topics --entity-name settled --delete-config no.such",
    "kafka-configs --alter --entity-type topics --entity-name settled --add-config no.such=1",
    "kafka-configs --alter --entity-type topics --entity-name settled --add-config retention.ms=soon",
    "kafka-configs --alter --entity-type topics --entity-name missing --add-config retention.ms=1",
    "kafka-configs --describe --entity-type topics --entity-name missing",
    "kafka-configs --describe --entity-type brokers --entity-name 1",
    "kafka-configs --describe --entity-type brokers --entity-name 1 --all",
    "kafka-configs --describe --entity-type brokers --entity-default",
    "kafka-configs --describe --entity-type brokers",
    "kafka-configs --alter --entity-type brokers --entity-name 1 --add-config message.max.bytes=2000000",
    "kafka-configs --alter --entity-type brokers --entity-default --add-config message.max.bytes=3000000",
    "kafka-configs --describe --entity-type brokers --entity-name 1",
    "kafka-configs --describe --entity-type brokers --entity-default",
    "kafka-configs --alter --entity-type brokers --entity-default --delete-config message.max.bytes",
    "kafka-configs --alter --entity-type brokers --entity-name 1 --delete-config message.max.bytes",
    "kafka-configs --alter --entity-type brokers --entity-name 1 --add-config num.partitions=7",
    (
        "kafka-configs --alter --entity-type brokers --entity-name 1 "
        "--add-config log.retention.ms=1000000,compression.type=zstd,log.flush.interval.ms=5000"
    ),
    "kafka-configs --alter --entity-type brokers --entity-default --add-config log.cleanup.policy=compact",
    "kafka-configs --alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=soon",
    "kafka-configs --alter --entity-type brokers --entity-name 1 --add-config min.insync.replicas=2",
    "kafka-configs --describe --entity-type brokers --entity-name 1",
    "kafka-configs --describe --entity-type brokers --entity-default",
    "kafka-configs --alter --entity-type brokers --entity-default --delete-config log.cleanup.policy",
    (
        "kafka-configs --alter --entity-type brokers --entity-name 1 "
        "--delete-config log.retention.ms,compression.type,log.flush.interval.ms"
    ),
    "kafka-configs --describe --entity-type brokers --entity-name 1",
    (
        "kafka-configs --alter --entity-type users --entity-name ann "
        "--add-config SCRAM-SHA-256=[iterations=4096,password=secret]"
    ),
    "kafka-configs --describe --entity-type users --entity-name ann",
    "kafka-configs --describe --entity-type users --entity-name nobody",
    "kafka-configs --describe --entity-type users",
    "kafka-configs --describe --entity-type clients",
    "kafka-configs --alter --entity-type users --entity-name ann --delete-config SCRAM-SHA-256",
    "kafka-configs --describe --entity-type groups",
    (
        "kafka-configs --alter --entity-type groups --entity-name settling --add-config "
        "share.auto.offset.reset=earliest,share.isolation.level=read_committed"
    ),
    "kafka-configs --describe --entity-type groups --entity-name settling",
    "kafka-configs --describe --entity-type groups --entity-name settling --all",
    "kafka-configs --describe --entity-type groups",
    "kafka-configs --alter --entity-type groups --entity-name settling --add-config share.auto.offset.reset=sometimes",
    "kafka-configs --alter --entity-type groups --entity-name settling --add-config no.such=1",
    "kafka-configs --alter --entity-type groups --entity-name settling --delete-config share.isolation.level",
    "kafka-configs --describe --entity-type groups",
    "kafka-configs --describe --entity-type client-metrics",
    "kafka-configs --describe --entity-type client-metrics --entity-name pushed",
    (
        "kafka-configs --alter --entity-type client-metrics --entity-name pushed "
        "--add-config metrics=[a,b],interval.ms=1000,match=[client_id=x]"
    ),
    "kafka-configs --describe --entity-type client-metrics",
    "kafka-configs --describe --entity-type client-metrics --entity-name pushed --all",
    "kafka-configs --alter --entity-type client-metrics --entity-name pushed --add-config interval.ms=1",
    "kafka-configs --alter --entity-type client-metrics --entity-name pushed --add-config match=[no_such=x]",
    "kafka-configs --alter --entity-type client-metrics --entity-name pushed --add-config no.such=1",
    "kafka-configs --alter --entity-type client-metrics --entity-name pushed --delete-config interval.ms,metrics,match",
    "kafka-configs --describe --entity-type client-metrics",
    (
        "kafka-configs --alter --entity-type users --entity-name alice "
        "--add-config SCRAM-SHA-256=[iterations=4096,password=secret]"
    ),
    "kafka-configs --alter --entity-type users --entity-name alice --delete-config SCRAM-SHA-256",
)

FEATURES: Scene = (
    "kafka-features describe",
    "kafka-features version-mapping",
    "kafka-features version-mapping --release-version 4.2",
    "kafka-features feature-dependencies --feature share.version=1 --feature group.version=1",
    "kafka-features upgrade --feature group.version=1 --dry-run",
    "kafka-features upgrade --feature group.version=2",
    "kafka-features upgrade --feature no.such=1",
    "kafka-features upgrade --feature metadata.version=30 --feature group.version=1",
    "kafka-features upgrade --release-version 4.2",
    "kafka-features upgrade --metadata 4.3-IV0",
    "kafka-features downgrade --feature metadata.version=29",
    "kafka-features downgrade --feature metadata.version=29 --unsafe",
    "kafka-features downgrade --feature kraft.version=0",
    "kafka-features downgrade --feature transaction.version=1 --dry-run",
    "kafka-features downgrade --feature transaction.version=1",
    "kafka-features downgrade --feature transaction.version=2",
    "kafka-features disable --feature group.version --dry-run",
    "kafka-features disable --feature group.version --feature transaction.version",
    "kafka-features disable --feature metadata.version",
    "kafka-features describe",
    "kafka-features downgrade --release-version 4.2",
    "kafka-features upgrade --feature group.version=1 --feature transaction.version=2",
    "kafka-features disable --feature share.version",
    "kafka-share-groups --describe --group any",
    "kafka-features upgrade --feature share.version=1",
    "kafka-features describe",
)

CONSOLES: Scene = (
    "kafka-topics --create --topic typed",
    "kafka-console-producer --topic typed <<< a\nb\nc",
    "kafka-console-producer --topic typed --reader-property parse.key=true --reader-property key.separator=: <<< k:v",
    "kafka-console-consumer --topic typed --from-beginning --max-messages 4 --group reading",
    (
        "kafka-console-consumer --topic typed --from-beginning --max-messages 4 --formatter-property print.key=true "
        "--formatter-property print.partition=true --formatter-property print.offset=true "
        "--formatter-property print.timestamp=true --formatter-property print.headers=true"
    ),
    "kafka-console-consumer --topic typed --partition 0 --offset earliest --timeout-ms 1000",
    "kafka-consumer-groups --describe --group reading --offsets",
    "kafka-configs --alter --entity-type groups --entity-name taking --add-config share.auto.offset.reset=earliest",
    "kafka-console-share-consumer --topic typed --group taking --max-messages 4 --release",
    "kafka-console-share-consumer --topic typed --group taking --max-messages 4 --reject",
    "kafka-share-groups --describe --group taking --offsets",
    "kafka-console-producer --topic typed <<< d",
    "kafka-console-share-consumer --topic typed --group taking --max-messages 1",
    "kafka-share-groups --describe --group taking --offsets",
)

MEASURING: Scene = (
    "kafka-topics --create --topic measured",
    "kafka-verifiable-producer --topic measured --max-messages 5",
    "kafka-verifiable-producer --topic measured --max-messages 5 --value-prefix 7 --acks 1",
    "kafka-verifiable-consumer --topic measured --group-id verifying --max-messages 10 --reset-policy earliest",
    "kafka-consumer-groups --describe --group verifying --offsets",
    (
        "kafka-verifiable-share-consumer --topic measured --group-id checking --max-messages 10 "
        "--offset-reset-strategy earliest"
    ),
    (
        f"kafka-producer-perf-test --topic measured --num-records 10 --record-size 10 --throughput -1 "
        f"--command-property bootstrap.servers={SERVER}"
    ),
    "kafka-consumer-perf-test --topic measured --num-records 10 --timeout 5000",
    "kafka-configs --alter --entity-type groups --entity-name racing --add-config share.auto.offset.reset=earliest",
    "kafka-share-consumer-perf-test --topic measured --group racing --num-records 10",
)

SCENES: Mapping[str, Scene] = MappingProxyType({
    "topics": TOPICS,
    "offsets": OFFSETS,
    "share groups": SHARE_GROUPS,
    "streams groups": STREAMS_GROUPS,
    "consumer groups": CONSUMER_GROUPS,
    "consumer groups by KIP-848": CONSUMER_PROTOCOL,
    "configs": CONFIGS,
    "features": FEATURES,
    "consoles": CONSOLES,
    "verifiable and performance clients": MEASURING,
})  # fmt: skip
"""The scenes by name."""
