"""What ordinary requests cost does not depend on the number of members and groups."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from tests.unit.broker.coordinators.groups.classic.driving import (
    DELAY_MS,
    GROUP,
    Client,
    Cluster,
    dynamic,
    settle,
    static,
)

SMALL, LARGE = 4, 400


def calls_of(operation: Callable[[], object]) -> int:
    """How many functions an operation calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return calls


def large_cluster(members: int) -> tuple[Cluster, list[Client]]:
    """A stable group, beside as many groups that are empty."""
    cluster = Cluster()
    clients = [static(cluster, str(number)) for number in range(members)]
    for client in clients:
        client.join()
        cluster.groups.ensure(f"another-{client.instance}")
    cluster.advance(2 * DELAY_MS)
    settle(clients)
    return cluster, clients


def heartbeat(_cluster: Cluster, clients: list[Client]) -> object:
    return clients[2].heartbeat()


def rejoin(_cluster: Cluster, clients: list[Client]) -> object:
    return clients[2].join()


def sync(_cluster: Cluster, clients: list[Client]) -> object:
    return clients[2].sync()


def commit(cluster: Cluster, clients: list[Client]) -> object:
    cluster.groups.check_commit(GROUP, OffsetCommitter(clients[2].member_id, clients[2].instance, 1), cluster.now_ms)
    return None


def ask_for_an_id(cluster: Cluster, _clients: list[Client]) -> object:
    return dynamic(cluster, "new").send_join()


def expire_nothing(cluster: Cluster, _clients: list[Client]) -> object:
    return cluster.groups.expire(cluster.now_ms)


def look_at_a_topic(cluster: Cluster, _clients: list[Client]) -> object:
    return cluster.groups.is_subscribed(GROUP, "orders")


@pytest.mark.parametrize("operation", [heartbeat, rejoin, sync, commit, ask_for_an_id, expire_nothing, look_at_a_topic])
def test_an_ordinary_request(operation: Callable[[Cluster, list[Client]], object]) -> None:
    costs = []
    for members in (SMALL, LARGE):
        cluster, clients = large_cluster(members)
        costs.append(calls_of(lambda cluster=cluster, clients=clients: operation(cluster, clients)))  # type: ignore[misc]
    assert costs[0] == costs[1]


def test_members_that_join_a_round() -> None:
    costs = []
    for members in (SMALL, LARGE):
        cluster, clients = large_cluster(members)
        clients[0].join()
        costs.append(calls_of(clients[1].join))
        assert cluster.state == "PreparingRebalance"
    assert costs[0] == costs[1]


def test_the_counter_counts() -> None:
    request = JoinGroupRequest(group_id="g", session_timeout_ms=1, protocol_type="consumer")
    assert calls_of(lambda: [hash(request) for _ in range(10)]) > calls_of(lambda: hash(request))
