"""A JoinGroup that waits in a broker for longer than requests may take, and than a session of SASL lasts."""

import logging
from collections.abc import Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import Delay
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from kafka_groups.streams import KafkaStreams
from tests.integration.test_streams_applications import word_count
from tests.support.conditions import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 90.0
WAIT_MS, REAUTHENTICATION_MS, REQUEST_MS = 15_000, 5_000, 3_000
SECRET = "secret"


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A broker that lets the first JoinGroup of a group wait for others, and ends sessions that are not renewed."""
    settings = {"group.initial.rebalance.delay.ms": WAIT_MS, "connections.max.reauth.ms": REAUTHENTICATION_MS}
    with EmbeddedCluster(
        security=BrokerSecurity(mechanisms=("PLAIN",), users={"ann": SECRET}), settings=settings
    ) as running:
        yield running
        assert running.unexpected_errors == ()


def test_it_is_answered_on_its_connection(cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_groups")
    cluster.create_topic("posts", 2)
    joins: list[JoinGroupRequest] = []

    def note(request: JoinGroupRequest) -> bool:
        joins.append(request)
        return False

    cluster.faults.on(ApiKey.JOIN_GROUP, Delay(0), when=note)
    keys = {
        "bootstrap.servers": cluster.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": SECRET, "request.timeout.ms": REQUEST_MS,
        "group.protocol": "classic",
    }  # fmt: skip
    clock = SystemClock()
    begun_ms = clock.now_ms()
    with KafkaStreams(word_count("posts"), keys, application_id="app") as app:
        app.wait_until_running(PATIENCE_S)
        assert clock.now_ms() - begun_ms >= WAIT_MS
        first_round = [each for each in joins if each.member_id]
        assert len(first_round) == len({each.member_id for each in joins}) - 1 == 1
        # The connection has been used meanwhile, and is used again: it has authenticated as often as the others.
        wait_until(lambda: sum("Reauthenticated" in message for message in caplog.messages) >= 6, PATIENCE_S)
        warned = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert all("for 10 s" in text for text in warned), warned  # it waits, and says so
        assert len(warned) == 2
        assert app.error is None
