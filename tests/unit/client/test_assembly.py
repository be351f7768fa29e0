"""What every client is made of: put together without connecting, and shared only where that is meant."""

import asyncio
import random
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import delay
from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.questions import Question, metadata_request
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import ConfigurationError, TlsError
from kafka_groups.net.loop_clock import LoopClock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop

SASL: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "u",
    "sasl_password": "p",
}


def assembly(**keys: Any) -> Assembly:
    config = admin_config(bootstrap_servers="b:1", **keys)
    return Assembly(config, Environment(MemoryNetwork(), rng=random.Random(1)), BackgroundErrors())


def test_another_one_has_its_own_state_and_the_same_login() -> None:
    first = assembly(**SASL)
    second = first.another()
    assert second.metadata is not first.metadata
    assert second.errors is not first.errors
    assert second.reachability is not first.reachability
    assert (second.clock, second.rng) == (first.clock, first.rng)
    assert first._login is not None
    assert second._login is first._login


def test_back_off_takes_the_configured_waits() -> None:
    backoff = assembly(retry_backoff_ms=10, retry_backoff_max_ms=20).backoff()
    for _ in range(5):
        backoff.failed(0)
    assert 16 <= backoff.remaining_ms(0) <= 24


def test_a_share_consumers_configuration_serves_as_well() -> None:
    config = share_consumer_config(bootstrap_servers="b:1", group_id="g")
    made = Assembly(config, Environment(), BackgroundErrors())
    assert "connected to nothing" in repr(made)
    assert made.coordinator("g").node_id is None
    assert made.metadata_manager(max_age_ms=1, allow_auto_create=False).metadata is made.metadata


def test_a_lost_data_connection_is_told_to_whoever_listens_then() -> None:
    made, lost = assembly(), []
    made._data_lost("b", 1)
    made.on_data_lost = lambda host, port: lost.append((host, port))
    made._data_lost("b", 1)
    assert lost == [("b", 1)]


def test_tls_is_read_at_once() -> None:
    config = admin_config(bootstrap_servers="b:1", security_protocol="SSL", ssl_ca_location="/nowhere.pem")
    with pytest.raises((ConfigurationError, TlsError), match="nowhere"):
        Assembly(config, Environment(), BackgroundErrors())


def made_for_records() -> Assembly:
    config = admin_config(bootstrap_servers="b:1")
    return Assembly(config, Environment(), BackgroundErrors(), for_records=True)


def test_a_client_for_records_does_not_count_stalls_and_keeps_large_buffers() -> None:
    made = made_for_records()
    assert isinstance(made.clock, LoopClock)
    assert isinstance(made._network, TcpNetwork)
    assert made._network._kept_bytes == 8 * 1024 * 1024
    assert not isinstance(assembly().clock, LoopClock)


def test_another_one_of_a_client_for_records_may_live_on_another_loop() -> None:
    made = made_for_records()
    assert made.another().clock is made._clock


@pytest.mark.parametrize("for_records", [True, False])
def test_the_deadline_of_a_call_moves_by_stalls_if_they_do_not_count(for_records: bool) -> None:
    async def program(simulation: Simulation) -> None:
        loop, network = asyncio.get_running_loop(), MemoryNetwork()
        assert isinstance(loop, VirtualTimeLoop)
        async with EmbeddedCluster(network=network, clock=simulation.clock) as cluster:
            config = admin_config(bootstrap_servers=cluster.bootstrap_servers)
            environment = Environment(network, simulation.clock, simulation.rng)
            made = Assembly(config, environment, BackgroundErrors(), for_records=for_records)
            client = AdminClient(made, request_timeout_ms=30_000)
            await client.within(30_000)(NODES)
            cluster.faults.on(ApiKey.METADATA, delay(1_000))
            asking = asyncio.create_task(client.within(30_000)(NODES))
            await asyncio.sleep(0.5)
            loop.block(40)
            assert bool((await asking).values) == for_records
            await client.close()

    run_simulated(program, 1, limit_s=600)


NODES: Question[str, int] = Question(
    "count the brokers",
    ApiKey.METADATA,
    ("all",),
    lambda _keys, version: metadata_request((), version),
    lambda _keys, response: {"all": len(response.brokers)},
)
