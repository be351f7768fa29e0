"""An identity provider is down for longer than its tokens last: no client ends, and all go on when it is back."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from kafka_groups import KafkaShareConsumer, Worker
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.sasl.oauthbearer import unsecured_token
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsState, Topology, serdes
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.kafka_jars import RealKafkaUnavailableError
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.testing.pytest_plugin import skip_unless_required
from tests.support.conditions import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

LIFE_S = 8.0
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
JAAS = f'{MODULE} required unsecuredLoginStringClaim_sub="broker";'
GROUPS = ("work", "read")
EARLIEST = "share.auto.offset.reset"


class Provider:
    """An identity provider whose tokens last eight seconds.

    Attributes:
        is_down: Whether it fails.
        latest_s: When its latest token expires.
    """

    def __init__(self) -> None:
        self.is_down = False
        self.latest_s = 0.0
        self._lock = threading.Lock()

    def __call__(self, _config: str) -> tuple[str, float]:
        with self._lock:
            if self.is_down:
                raise OSError("the provider is down")
            self.latest_s = now_s() + LIFE_S
            return unsecured_token({"sub": "ann", "iat": now_s(), "exp": self.latest_s}), self.latest_s


def now_s() -> float:
    return SystemClock().wall_ms() / 1000


@frozen
class Site:
    """A broker that wants tokens.

    Attributes:
        servers: Where it wants them.
        produce: Writes a record to the topic "in".
    """

    servers: str
    produce: Callable[[str], object]


@contextlib.contextmanager
def embedded() -> Iterator[Site]:
    security = BrokerSecurity(mechanisms=("OAUTHBEARER",))
    with EmbeddedCluster(settings=FAST_SETTINGS, security=security) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        for group in GROUPS:
            cluster.alter_group_configs(group, {EARLIEST: "earliest"})
        yield Site(cluster.bootstrap_servers, lambda value: cluster.produce("in", [value]))


@contextlib.contextmanager
def kafka() -> Iterator[Site]:
    properties = {
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": JAAS,
    }
    process = KafkaProcess(properties=properties, listeners={"OAUTH": "SASL_PLAINTEXT"})
    try:
        process.start()
    except RealKafkaUnavailableError as error:
        skip_unless_required(str(error))
    with contextlib.closing(process):
        admin = AdminClient({"bootstrap.servers": process.bootstrap_servers})
        for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in ("in", "out")]).values():
            future.result(30)
        for group in GROUPS:
            entry = ConfigEntry(EARLIEST, "earliest", incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[entry])
            admin.incremental_alter_configs([resource])[resource].result(30)
        producer = Producer({"bootstrap.servers": process.bootstrap_servers})

        def produce(value: str) -> None:
            producer.produce("in", value)
            producer.poll(0)

        yield Site(process.address("OAUTH"), produce)
        producer.flush(30)


def copying() -> Topology:
    builder = StreamsBuilder()
    records = builder.stream("in", key=serdes.nullable(serdes.string), value=serdes.string)
    records.to("out", key=serdes.nullable(serdes.string), value=serdes.string)
    return builder.build()


@pytest.mark.parametrize("broker", [embedded, pytest.param(kafka, marks=pytest.mark.real_kafka)])
@pytest.mark.parametrize("guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)])
def test_clients_survive_an_outage_that_spans_the_expiry_of_their_tokens(
    broker: Callable[[], contextlib.AbstractContextManager[Site]],
    guarantee: Literal["at_least_once", "exactly_once_v2"],
) -> None:
    """A worker reads what an application reads, and a share consumer reads what the application writes."""
    provider = Provider()
    with broker() as site:
        keys: dict[str, Any] = {
            "bootstrap.servers": site.servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": provider,
        }
        worked: set[str] = set()
        read: set[str] = set()
        worker = Worker("work", keys)

        @worker.handler("in", value=serdes.string)
        def work(value: str) -> None:
            worked.add(value)

        app = KafkaStreams(
            copying(),
            {**keys, "application.id": "copy", "auto.offset.reset": "earliest", "commit.interval.ms": 200},
            processing_guarantee=guarantee,
        )
        consumer = KafkaShareConsumer({**keys, "group.id": "read"}, value_deserializer=bytes.decode)
        with app, worker, consumer:
            consumer.subscribe(["out"])

            def has_passed(value: str) -> bool:
                site.produce(value)
                read.update(record.value or "" for record in consumer.poll(0.1))
                return value in worked and value in read

            def has_outlasted_every_token() -> bool:
                # A record may have to wait for the end: the latest token may be about to expire when the outage begins.
                has_passed("during")
                return now_s() > provider.latest_s + 4

            wait_until(lambda: has_passed("before"), 60)
            provider.is_down = True
            wait_until(has_outlasted_every_token, 60)
            provider.is_down = False
            wait_until(lambda: has_passed("after") and has_passed("during"), 60, lambda: (worked, read))
            wait_until(lambda: app.state is StreamsState.RUNNING and worker.health().is_ready, 60, lambda: app.state)
