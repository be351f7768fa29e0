"""EmbeddedCluster: both forms, what it leaves behind, its actions, its failures."""

import asyncio
import gc
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.errors import (
    ConfigurationError,
    DisconnectedError,
    IllegalStateError,
    InvalidConfigError,
    InvalidTopicError,
    NetworkError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.alone import alone
from tests.support.broker.acls import allow
from tests.support.open_things import OpenThings

CLUSTER = AclResourceType.CLUSTER


async def ask(network: Network, address: str, request: object, version: int) -> Any:
    host, _, port = address.partition(":")
    connection = await ClientConnection.open(network, host, int(port), "tests")
    deadline_ms = asyncio.get_running_loop().time() * 1000 + 10_000
    try:
        return await connection.request(request, version, deadline_ms)
    finally:
        connection.close()
        await asyncio.sleep(0)


def addresses(cluster: EmbeddedCluster) -> list[str]:
    return cluster.bootstrap_servers.split(",")


def metadata_over_tcp(cluster: EmbeddedCluster, *, broker: int = 0) -> MetadataResponse:
    request = MetadataRequest(topics=None)
    response: MetadataResponse = asyncio.run(ask(TcpNetwork(), addresses(cluster)[broker], request, 12))
    return response


def test_cluster_on_its_own_thread_serves_blocking_programs() -> None:
    with EmbeddedCluster(brokers=3) as cluster:
        topic = cluster.create_topic("t", 4, replication_factor=2)
        response = metadata_over_tcp(cluster, broker=2)
        assert [f"{b.host}:{b.port}" for b in response.brokers] == addresses(cluster)
        assert [b.node_id for b in response.brokers] == [1, 2, 3]
        assert response.topics[0].topic_id == topic.topic_id
        assert [p.leader_id for p in response.topics[0].partitions] == [1, 2, 3, 1]
        assert cluster.leader_of("t", 2) == 3
    with pytest.raises(NetworkError):
        metadata_over_tcp(cluster)


async def test_cluster_on_the_programs_loop_serves_asynchronous_programs() -> None:
    async with EmbeddedCluster() as cluster:
        cluster.create_topic("t")
        response = await ask(TcpNetwork(), cluster.bootstrap_servers, MetadataRequest(topics=None), 12)
        assert [topic.name for topic in response.topics] == ["t"]
        with pytest.raises(IllegalStateError, match="_async"):
            cluster.stop_broker(1)


def test_cluster_runs_in_memory_and_in_virtual_time() -> None:
    async def program(sim: Simulation) -> str:
        network = MemoryNetwork()
        async with EmbeddedCluster(2, network=network, clock=sim.clock, seed=sim.seed) as cluster:
            response = await ask(network, addresses(cluster)[1], MetadataRequest(topics=()), 12)
            assert len(response.brokers) == 2
        assert network.open_connections == 0
        return str(response.cluster_id)

    assert run_simulated(program, 1) == run_simulated(program, 1)
    assert run_simulated(program, 1) != run_simulated(program, 2)


def test_clusters_with_one_seed_have_ids_of_their_own() -> None:
    with EmbeddedCluster(seed=1) as first, EmbeddedCluster(seed=1) as second:
        assert first.metadata.cluster_id != second.metadata.cluster_id
        assert first.create_topic("t").topic_id == second.create_topic("t").topic_id


def test_what_the_brokers_begin_belongs_to_the_context_in_which_they_started() -> None:
    who = ContextVar("who", default="nobody")

    async def program(sim: Simulation) -> list[str]:
        seen: list[str] = []
        async with EmbeddedCluster(network=MemoryNetwork(), clock=sim.clock) as cluster:
            cluster.metadata.on_change(lambda _image, _delta: seen.append(who.get()))
            who.set("caller")
            topic = cluster.create_topic("t")
            cluster.produce("t", ["1", "2"])
            assert cluster.logs.get(topic.topic_id, 0).end_offset == 2
        return seen[:1]

    assert run_simulated(program, 1) == ["nobody"]


def test_ports_are_free_ones_or_those_asked_for() -> None:
    with EmbeddedCluster() as first, EmbeddedCluster() as second:
        assert first.bootstrap_servers != second.bootstrap_servers
        port = int(first.bootstrap_servers.partition(":")[2])
        taken = EmbeddedCluster(port=port)
        with pytest.raises(NetworkError, match=str(port)):
            taken.start()
    with EmbeddedCluster(port=port) as third:
        assert third.bootstrap_servers == f"127.0.0.1:{port}"


def running_loop_threads() -> int:
    return sum(isinstance(thing, LoopThread) and thing.is_running for thing in gc.get_objects())


def test_fifty_clusters_leave_nothing_behind() -> None:
    alone(fifty_clusters)


def fifty_clusters() -> None:
    with EmbeddedCluster() as warm_up:
        metadata_over_tcp(warm_up)
    gc.collect()
    opened, loops = OpenThings.now(), running_loop_threads()
    for number in range(50):
        with EmbeddedCluster(brokers=1 + number % 3) as cluster:
            cluster.create_topic("t", 2)
            if number % 10 == 0:
                metadata_over_tcp(cluster)
    assert opened.new() == []
    gc.collect()
    assert running_loop_threads() == loops


@pytest.mark.slow
def test_fifty_clusters_on_one_loop_leave_no_task() -> None:
    alone(fifty_clusters_on_one_loop)


def fifty_clusters_on_one_loop() -> None:
    asyncio.run(_fifty_clusters_on_one_loop())


async def _fifty_clusters_on_one_loop() -> None:
    async with EmbeddedCluster() as warm_up:
        await ask(TcpNetwork(), warm_up.bootstrap_servers, MetadataRequest(), 12)
    before, opened = asyncio.all_tasks(), OpenThings.now()
    for _ in range(50):
        async with EmbeddedCluster() as cluster:
            host, _, port = cluster.bootstrap_servers.partition(":")
            await ClientConnection.open(TcpNetwork(), host, int(port), "left open")
            await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before
    assert opened.new() == []


def test_start_to_first_answer_is_quick() -> None:
    clock = SystemClock()

    async def first_answer(cluster: EmbeddedCluster) -> None:
        host, _, port = cluster.bootstrap_servers.partition(":")
        connection = await ClientConnection.open(TcpNetwork(), host, int(port), "tests")
        versions = await negotiate(connection, clock.now_ms() + 10_000)
        assert ApiKey.SHARE_GROUP_HEARTBEAT in versions.usable
        connection.close()
        await asyncio.sleep(0)

    times = []
    for _ in range(3):
        started_ms = clock.now_ms()
        with EmbeddedCluster() as cluster:
            asyncio.run(first_answer(cluster))
            times.append(clock.now_ms() - started_ms)
    assert min(times) < 100


def test_cluster_is_used_once() -> None:
    cluster = EmbeddedCluster()
    assert repr(cluster) == "<EmbeddedCluster of 1: not started>"
    with pytest.raises(IllegalStateError, match="is not running"):
        cluster.create_topic("t")
    cluster.stop()
    with cluster:
        assert repr(cluster) == f"<EmbeddedCluster of 1: running on {cluster.bootstrap_servers}>"
        with pytest.raises(IllegalStateError):
            cluster.start()
    assert repr(cluster) == "<EmbeddedCluster of 1: stopped>"
    cluster.stop()
    with pytest.raises(IllegalStateError):
        cluster.start()


def test_cluster_that_was_left_open_warns_and_ends_its_thread() -> None:
    before = set(threading.enumerate())
    clusters = [EmbeddedCluster()]
    clusters[0].start()
    with pytest.warns(ResourceWarning, match=r"EmbeddedCluster of 1: running on .* was never stopped"):
        clusters.clear()
    gc.collect()
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("count", [0, -1])
def test_cluster_has_a_broker(count: int) -> None:
    with pytest.raises(ValueError, match="Invalid number of brokers"):
        EmbeddedCluster(count)


def test_settings_are_names_or_values() -> None:
    assert EmbeddedCluster(settings={"num.partitions": 3}) is not None
    assert EmbeddedCluster(settings=broker_settings({"num.partitions": "3"})) is not None
    with pytest.raises(InvalidConfigError, match=r"num\.partitons"):
        EmbeddedCluster(settings={"num.partitons": 3})


def test_actions_raise_what_requests_would() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t")
        with pytest.raises(TopicAlreadyExistsError):
            cluster.create_topic("t")
        cluster.delete_topic("t")
        cluster.create_topic("t")
        with pytest.raises(InvalidConfigError):
            cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "1"})
        cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "20000"})
        cluster.alter_group_configs("g", {"share.record.lock.duration.ms": None})
        with pytest.raises(LookupError):
            cluster.leader_of("unknown", 0)


def test_leaders_move_and_brokers_go_and_come_back() -> None:
    with EmbeddedCluster(brokers=2) as cluster:
        cluster.create_topic("t", 2, replication_factor=2)
        cluster.move_leader("t", 0, 2)
        assert (cluster.leader_of("t", 0), cluster.leader_of("t", 1)) == (2, 2)
        before = cluster.bootstrap_servers
        assert list(cluster.running_brokers) == [1, 2]
        cluster.stop_broker(2)
        assert list(cluster.running_brokers) == [1]
        with pytest.raises(NetworkError):
            metadata_over_tcp(cluster, broker=1)
        response = metadata_over_tcp(cluster)
        assert [b.node_id for b in response.brokers] == [1]
        assert [(p.leader_id, p.leader_epoch) for p in response.topics[0].partitions] == [(1, 2), (1, 1)]
        with pytest.raises(ValueError, match="not running"):
            cluster.stop_broker(2)
        cluster.start_broker(2)
        assert cluster.bootstrap_servers == before
        assert len(metadata_over_tcp(cluster, broker=1).brokers) == 2
        with pytest.raises(ValueError, match="is running or does not exist"):
            cluster.start_broker(2)


def test_an_unclean_leader_has_lost_records() -> None:
    with EmbeddedCluster(3, network=MemoryNetwork()) as cluster:
        cluster.create_topic("t", 2)
        for value in ("a", "b", "c"):
            cluster.produce("t", [value], partition=1)
        before = cluster.metadata.topic("t")
        assert before is not None
        assert cluster.elect_unclean_leader("t", 1, 3, end_offset=1) == 1
        assert [(record.partition, record.value) for record in cluster.records("t")] == [(1, b"a")]
        led = cluster.metadata.topic("t")
        assert led is not None
        assert (led.partitions[1].leader_id, led.partitions[1].leader_epoch) == (
            3,
            before.partitions[1].leader_epoch + 1,
        )
        assert led.partitions[0] == before.partitions[0]
        assert cluster.produce("t", ["d"], partition=1) == [("t", 1, 1)]


@pytest.mark.parametrize(
    ("topic", "partition", "node_id", "end_offset", "error"),
    [
        ("x", 0, 1, 0, UnknownTopicOrPartitionError),
        ("t", 1, 1, 0, UnknownTopicOrPartitionError),
        ("t", 0, 2, 0, ValueError),
        ("t", 0, 1, 2, OffsetOutOfRangeError),
        ("__consumer_offsets", 0, 1, 0, InvalidTopicError),
    ],
)
def test_elections_that_are_refused_lose_nothing(
    topic: str, partition: int, node_id: int, end_offset: int, error: type[Exception]
) -> None:
    with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        cluster.create_topic("t")
        cluster.create_topic("__consumer_offsets")
        cluster.produce("t", ["a"])
        with pytest.raises(error):
            cluster.elect_unclean_leader(topic, partition, node_id, end_offset=end_offset)
        assert [record.value for record in cluster.records("t")] == [b"a"]
        led = cluster.metadata.topic("t")
        assert led is not None
        assert led.partitions[0].leader_epoch == 0


def test_faults_strike_requests() -> None:
    with EmbeddedCluster() as cluster:
        rule = cluster.faults.on(ApiKey.METADATA, DROP_CONNECTION, times=1)
        with pytest.raises(DisconnectedError):
            metadata_over_tcp(cluster)
        assert rule.hits == 1
        assert len(metadata_over_tcp(cluster).brokers) == 1


def break_metadata(cluster: EmbeddedCluster) -> None:
    cluster.metadata.topics = "no function"  # type: ignore[method-assign, assignment]


def test_defect_in_a_broker_is_raised_at_the_end() -> None:
    cluster = EmbeddedCluster()
    cluster.start()
    break_metadata(cluster)
    with pytest.raises(DisconnectedError):
        metadata_over_tcp(cluster)
    assert len(cluster.unexpected_errors) == 1
    with pytest.raises(ExceptionGroup) as caught:
        cluster.stop()
    assert caught.group_contains(TypeError)
    cluster.stop()


def test_defect_does_not_hide_the_programs_own_error() -> None:
    def program() -> None:
        with EmbeddedCluster() as cluster:
            break_metadata(cluster)
            metadata_over_tcp(cluster)

    with pytest.raises(DisconnectedError) as caught:
        program()
    assert "TypeError" in caught.value.__notes__[0]


# --------------------------------------------------------------------------------- group coordination


async def coordinator_of(network: Network, cluster: EmbeddedCluster, group_id: str) -> str:
    request = FindCoordinatorRequest(coordinator_keys=(group_id,))
    response = await ask(network, addresses(cluster)[0], request, 4)
    return f"{response.coordinators[0].host}:{response.coordinators[0].port}"


def heartbeat(member_epoch: int, *, topics: tuple[str, ...] | None) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id="g", member_id="member", member_epoch=member_epoch, rack_id=None, subscribed_topic_names=topics
    )


def test_group_is_coordinated_by_one_broker_and_its_sessions_expire() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        async with EmbeddedCluster(3, network=network, clock=sim.clock) as cluster:
            cluster.create_topic("t", 2)
            coordinator, epoch = await coordinator_of(network, cluster, "g"), 0
            for address in addresses(cluster):
                answer: ShareGroupHeartbeatResponse = await ask(network, address, heartbeat(0, topics=("t",)), 1)
                expected = ErrorCode.NONE if address == coordinator else ErrorCode.NOT_COORDINATOR
                assert answer.error_code == expected
                epoch = max(epoch, answer.member_epoch)
            await asyncio.sleep(40)
            assert (await ask(network, coordinator, heartbeat(epoch, topics=None), 1)).error_code == ErrorCode.NONE
            await asyncio.sleep(44.9)
            assert (await ask(network, coordinator, heartbeat(epoch, topics=None), 1)).error_code == ErrorCode.NONE
            await asyncio.sleep(45.1)
            answer = await ask(network, coordinator, heartbeat(epoch, topics=None), 1)
            assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    run_simulated(program, 1)


def test_group_outlives_its_coordinators_broker() -> None:
    async def program(sim: Simulation) -> None:
        network = MemoryNetwork()
        async with EmbeddedCluster(3, network=network, clock=sim.clock) as cluster:
            cluster.create_topic("t", 2)
            coordinator = await coordinator_of(network, cluster, "g")
            epoch = (await ask(network, coordinator, heartbeat(0, topics=("t",)), 1)).member_epoch
            await cluster.stop_broker_async(addresses(cluster).index(coordinator) + 1)
            alive = next(address for address in addresses(cluster) if address != coordinator)
            request = FindCoordinatorRequest(coordinator_keys=("g",))
            found = (await ask(network, alive, request, 4)).coordinators[0]
            answer = await ask(network, f"{found.host}:{found.port}", heartbeat(epoch, topics=None), 1)
            assert answer.error_code == ErrorCode.NONE

    run_simulated(program, 1)


def test_a_request_above_the_limit_of_the_settings_ends_its_connection() -> None:
    with EmbeddedCluster(settings={"socket.request.max.bytes": 200}) as cluster:
        assert metadata_over_tcp(cluster).brokers
        request = MetadataRequest(topics=(MetadataRequestTopic(name="t" * 200),))
        with pytest.raises(DisconnectedError):
            asyncio.run(ask(TcpNetwork(), addresses(cluster)[0], request, 12))


def test_acls_that_are_given_are_there_and_turn_the_authorizer_on() -> None:
    with EmbeddedCluster(acls=[allow(AclOperation.READ)]) as cluster:
        assert list(cluster.metadata.acls) == [allow(AclOperation.READ)]


def test_an_invalid_acl_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^Invalid ACL AclBinding.*abc/8.*: Invalid CIDR notation"):
        EmbeddedCluster(acls=[allow(AclOperation.READ, host="abc/8")])
    EmbeddedCluster(acls=[allow(AclOperation.READ, host="abc/8")], profile="4.3")


async def test_an_authorizer_asks_clients_in_memory_too() -> None:
    network = MemoryNetwork()
    filter_ = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    codes = {}
    for acls in (None, [], [allow(AclOperation.ALL, "kafka-cluster", of=CLUSTER, who="User:ANONYMOUS")]):
        async with EmbeddedCluster(network=network, acls=acls) as cluster:
            response = await ask(network, addresses(cluster)[0], filter_, 3)
            codes[len(acls) if acls is not None else None] = response.error_code
    assert codes == {
        None: ErrorCode.SECURITY_DISABLED, 0: ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 1: ErrorCode.NONE,
    }  # fmt: skip
