"""Rounds of classic groups: who joins, how long a group waits, which protocol it chooses, who gets which assignment."""

from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, GroupMetadataValue
from kafka_groups.protocol.error_codes import ErrorCode
from tests.unit.broker.coordinators.groups.classic.driving import (
    DELAY_MS,
    GROUP,
    NONE,
    REBALANCE_MS,
    SESSION_MS,
    WALL_MS,
    Client,
    Cluster,
    dynamic,
    refused,
    settle,
    stable,
    static,
)

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
LONG_MS = 1_000_000


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


# ------------------------------------------------------------------------------------------------- the first join


@pytest.mark.parametrize("version", [4, 9])
def test_a_new_member_joins_again_with_the_id_that_it_gets(cluster: Cluster, version: int) -> None:
    client = dynamic(cluster, "app", version=version)
    response = client.send_join().response
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id.startswith("app-")
    assert response.protocol_name == ("" if version < 7 else None)
    assert cluster.state == "Empty"
    client.member_id = response.member_id
    assert client.send_join().waits
    assert cluster.state == "PreparingRebalance"
    cluster.advance(DELAY_MS)
    settle([client])
    assert client.member_id == response.member_id


@pytest.mark.parametrize("version", [0, 3])
def test_before_version_4_it_joins_at_once(cluster: Cluster, version: int) -> None:
    client = dynamic(cluster, "app", version=version)
    assert client.send_join().waits
    cluster.advance(DELAY_MS)
    settle([client])


def test_an_id_that_nobody_joins_with_expires_after_the_session_timeout(cluster: Cluster) -> None:
    client = dynamic(cluster, "app")
    client.member_id = client.send_join().response.member_id
    cluster.advance(SESSION_MS)
    assert client.send_join().response.error_code == UNKNOWN
    assert cluster.groups.next_deadline_ms() is None


def test_a_round_waits_for_ids_that_were_given(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first)
    second.member_id = second.send_join().response.member_id
    assert cluster.state == "Stable"
    assert first.join().waits
    cluster.advance(SESSION_MS)
    assert first.learn().generation_id == 2
    assert [member.member_id for member in first.joined.response.members] == [first.member_id]


def test_an_id_that_was_given_joins_without_an_instance_id(cluster: Cluster) -> None:
    client = dynamic(cluster, "app")
    client.member_id = client.send_join().response.member_id
    client.instance = "one"
    refused = client.send_join().response
    assert (refused.error_code, refused.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")


def test_the_group_exists_for_other_coordinators_before_its_first_generation(cluster: Cluster) -> None:
    dynamic(cluster, "app").send_join()
    expected = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp_ms=WALL_MS
    )
    assert cluster.log == [ClassicGroupMetadata(GROUP, expected)]
    cluster.move()
    assert cluster.state == "Empty"


def test_no_second_record_is_written_for_a_group_without_one(cluster: Cluster) -> None:
    cluster.groups.ensure(GROUP)
    dynamic(cluster, "app").join()
    assert cluster.log == []


def test_a_member_id_needs_a_group(cluster: Cluster) -> None:
    client = dynamic(cluster, "app", member_id="app-1")
    assert client.send_join().response == refused(UNKNOWN, "app-1")
    assert client.sync().response.error_code == UNKNOWN
    assert client.heartbeat() == UNKNOWN
    assert client.leave() == UNKNOWN
    assert cluster.groups.groups == {}


def test_a_member_id_of_another_life_is_not_known(cluster: Cluster) -> None:
    stable(cluster, dynamic(cluster, "app"))
    assert dynamic(cluster, "app", member_id="app-1").send_join().response.error_code == UNKNOWN


# ------------------------------------------------------------------------------------------------ the first round


def test_the_first_round_takes_longer_as_members_join_up_to_the_rebalance_timeout(cluster: Cluster) -> None:
    clients = [dynamic(cluster, str(number), rebalance_ms=10_000) for number in range(4)]
    for number, client in enumerate(clients):
        cluster.advance(number * 2_900 - cluster.now_ms)
        client.join()
    cluster.advance(9_999 - cluster.now_ms)
    assert cluster.waiting == 4
    cluster.advance(1)
    settle(clients)


def test_the_first_round_ends_if_nobody_else_joins(cluster: Cluster) -> None:
    first = dynamic(cluster, "first")
    first.join()
    cluster.advance(DELAY_MS - 1)
    assert first.joined.waits
    cluster.advance(1)
    assert first.learn().generation_id == 1


def test_without_a_delay_it_ends_at_once() -> None:
    cluster = Cluster(initial_rebalance_delay_ms=0)
    first = dynamic(cluster, "first")
    first.join()
    cluster.advance(1)
    settle([first])


def test_if_all_leave_during_the_first_round_the_group_becomes_empty_with_its_end(cluster: Cluster) -> None:
    first = static(cluster, "one")
    first.join()
    assert cluster.leave_instance("one") == NONE
    assert first.joined.response.error_code == UNKNOWN
    assert cluster.state == "PreparingRebalance"
    cluster.advance(DELAY_MS)
    assert cluster.state == "Empty"
    assert cluster.group.generation == 1


# ---------------------------------------------------------------------------------------------------- later rounds


def test_a_newcomer_starts_a_round_that_ends_when_all_have_joined(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first)
    assert second.join().waits
    assert first.heartbeat() == REBALANCING
    first.join()
    assert not second.joined.waits
    assert not first.joined.waits
    assert {each.member_id for each in first.learn().members} == {first.member_id, second.learn().member_id}
    assert second.joined.response.members == ()
    settle([first, second])


def test_members_that_do_not_join_in_time_are_removed(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first", session_ms=LONG_MS), dynamic(cluster, "second", session_ms=LONG_MS)
    stable(cluster, first, second)
    first.join()
    cluster.advance(REBALANCE_MS)
    assert len(first.learn().members) == 1
    assert second.heartbeat() == UNKNOWN


def test_a_round_waits_for_the_longest_rebalance_timeout(cluster: Cluster) -> None:
    first = dynamic(cluster, "first", rebalance_ms=5_000, session_ms=LONG_MS)
    second = dynamic(cluster, "second", rebalance_ms=90_000, session_ms=LONG_MS)
    stable(cluster, first, second)
    first.join()
    cluster.advance(89_999)
    assert first.joined.waits
    cluster.advance(1)
    assert not first.joined.waits


def test_in_version_0_the_rebalance_timeout_is_the_session_timeout(cluster: Cluster) -> None:
    first = dynamic(cluster, "first", version=0, rebalance_ms=-1, session_ms=20_000)
    stable(cluster, first)
    assert cluster.group.members[first.member_id].rebalance_timeout_ms == 20_000


def test_waiting_members_do_not_time_out(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second", session_ms=LONG_MS)
    stable(cluster, first, second)
    first.join()
    cluster.advance(REBALANCE_MS - 1)
    assert first.joined.waits
    second.join()
    settle([first, second])
    cluster.advance(SESSION_MS - 1)
    assert cluster.state == "Stable"
    cluster.advance(1)
    assert cluster.state == "PreparingRebalance"


def test_newcomers_that_wait_too_long_time_out(cluster: Cluster) -> None:
    old = static(cluster, "one", session_ms=LONG_MS, rebalance_ms=LONG_MS)
    stable(cluster, old)
    newcomer = dynamic(cluster, "new")
    newcomer.join()
    cluster.advance(299_999)
    assert newcomer.joined.waits
    cluster.advance(1)
    assert newcomer.joined.response.error_code == UNKNOWN
    assert newcomer.joined.response.member_id == ""
    assert old.join().response.generation_id == 2


def test_a_repeated_request_replaces_the_one_that_waits(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first, second)
    lost = first.join()
    assert first.join().waits
    assert lost.response.error_code == REBALANCING
    second.join()
    settle([first, second])


def test_a_lost_response_is_repeated(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    for client in (first, second):
        client.join()
    cluster.advance(2 * DELAY_MS)
    for client in (first, second):
        before = client.learn()
        again = client.join().response
        assert again == before
    settle([first, second])


def test_other_metadata_before_the_assignment_starts_another_round(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    for client in (first, second):
        client.join()
    cluster.advance(2 * DELAY_MS)
    first.learn()
    second.learn()
    second.protocols = {"range": b"less"}
    assert second.join().waits
    assert first.sync().response.error_code == REBALANCING
    first.join()
    settle([first, second])


def test_the_last_member_leaves_an_empty_group(cluster: Cluster) -> None:
    first = dynamic(cluster, "first")
    stable(cluster, first)
    cluster.advance(1_234)
    assert first.leave() == NONE
    value = cluster.log[-1].value
    assert value == GroupMetadataValue(
        protocol_type="consumer",
        generation=2,
        protocol=None,
        leader=None,
        current_state_timestamp_ms=WALL_MS + cluster.now_ms,
    )
    assert cluster.state == "Empty"
    assert cluster.groups.next_deadline_ms() is None
    assert cluster.groups.expiry_timestamp_base(GROUP, "orders", 0) == WALL_MS + cluster.now_ms
    cluster.delete_group()
    assert cluster.groups.groups == {}


def test_the_last_session_ends_and_leaves_an_empty_group(cluster: Cluster) -> None:
    stable(cluster, dynamic(cluster, "first"), static(cluster, "two"))
    cluster.advance(REBALANCE_MS)
    assert cluster.state == "Empty"
    assert cluster.group.static_members == {}
    assert cluster.groups.next_deadline_ms() is None


def test_a_group_with_a_new_life_may_have_another_type(cluster: Cluster) -> None:
    first = dynamic(cluster, "first")
    stable(cluster, first)
    first.leave()
    worker = dynamic(cluster, "worker", protocol_type="connect", protocols={"compatible": b""})
    worker.join()
    cluster.advance(DELAY_MS)
    settle([worker])
    assert cluster.groups.describe(GROUP).protocol_type == "connect"


# ------------------------------------------------------------------------------------------------------- protocols


def test_the_protocol_with_most_votes_among_those_that_all_support(cluster: Cluster) -> None:
    votes = [("a", "b", "c"), ("x", "c", "b"), ("c", "b")]
    clients = [
        dynamic(cluster, str(number), protocols={name: name.encode() for name in names})
        for number, names in enumerate(votes)
    ]
    for client in clients:
        client.join()
    cluster.advance(2 * DELAY_MS)
    settle(clients)
    assert cluster.group.protocol == "c"
    assert [member.metadata for member in clients[0].joined.response.members] == [b"c", b"c", b"c"]


@pytest.mark.parametrize(
    ("names", "winner"), [(("range", "sticky"), "sticky"), (("range", "cooperative-sticky"), "range")]
)
def test_with_as_many_votes_the_order_of_javas_hash_table_decides(
    cluster: Cluster, names: tuple[str, str], winner: str
) -> None:
    clients = [
        dynamic(cluster, str(number), protocols=dict.fromkeys(order, b""))
        for number, order in enumerate((names, names[::-1]))
    ]
    for client in clients:
        client.join()
    cluster.advance(2 * DELAY_MS)
    settle(clients)
    assert cluster.group.protocol == winner


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": "connect"},
        {"protocols": {"sticky": b""}},
        {"protocols": {}},
    ],
)
def test_other_protocols_do_not_fit(cluster: Cluster, fields: dict[str, object]) -> None:
    first = dynamic(cluster, "first")
    stable(cluster, first)
    for other in (dynamic(cluster, "other", **fields), static(cluster, "one", **fields)):
        assert other.send_join().response == refused(INCONSISTENT)
    known = dynamic(cluster, "first", member_id=first.member_id, **fields)
    assert known.send_join().response == refused(INCONSISTENT, first.member_id)
    assert cluster.state == "Stable"


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": {}}])
def test_an_empty_group_needs_a_type_and_a_protocol(cluster: Cluster, fields: dict[str, object]) -> None:
    assert dynamic(cluster, "first", **fields).send_join().response.error_code == INCONSISTENT
    assert cluster.state == "Empty"
    assert len(cluster.log) == 1


def test_what_a_member_no_longer_supports_is_not_chosen(cluster: Cluster) -> None:
    both = {"range": b"", "sticky": b""}
    first, second = dynamic(cluster, "first", protocols=both), dynamic(cluster, "second", protocols=both)
    stable(cluster, first, second)
    second.protocols = {"sticky": b""}
    second.join()
    newcomer = dynamic(cluster, "third", protocols={"range": b""})
    assert newcomer.join().response.error_code == INCONSISTENT
    first.join()
    settle([first, second])
    assert cluster.group.protocol == "sticky"
    second.leave()
    third = dynamic(cluster, "third", protocols={"range": b""})
    assert third.join().waits
    first.join()
    settle([first, third])


# ------------------------------------------------------------------------------------------------------- SyncGroup


def joined_group(cluster: Cluster, *clients: Client) -> None:
    for client in clients:
        client.join()
    cluster.advance(2 * DELAY_MS)
    for client in clients:
        client.learn()


def test_followers_wait_for_the_leader(cluster: Cluster) -> None:
    leader, early, late = (dynamic(cluster, name) for name in ("leader", "early", "late"))
    joined_group(cluster, leader, early, late)
    assert early.sync().waits
    leader.sync({early.member_id: b"E", "nobody": b"?"})
    assert early.synced.response.assignment == b"E"
    assert (early.synced.response.protocol_type, early.synced.response.protocol_name) == ("consumer", "range")
    assert leader.synced.response.assignment == b""
    assert late.sync().response.assignment == b""
    stored = cluster.log[-1].value
    assert stored is not None
    assert {member.member_id: member.assignment for member in stored.members} == {
        leader.member_id: b"",
        early.member_id: b"E",
        late.member_id: b"",
    }
    assert stored.leader == leader.member_id
    assert early.sync().response.assignment == b"E"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_instance_id": "one"}, UNKNOWN),
        ({"member_id": "nobody"}, UNKNOWN),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, INCONSISTENT),
        ({"protocol_name": "sticky"}, INCONSISTENT),
        ({"protocol_type": "consumer", "protocol_name": "range"}, NONE),
    ],
)
def test_sync_of_a_member_that_is_not_in_this_generation(
    cluster: Cluster, fields: dict[str, Any], error: ErrorCode
) -> None:
    leader = dynamic(cluster, "leader")
    joined_group(cluster, leader)
    assert leader.sync(**fields).response.error_code == error


def test_those_that_do_not_ask_for_their_assignment_are_removed(cluster: Cluster) -> None:
    leader, silent = dynamic(cluster, "leader", session_ms=LONG_MS), dynamic(cluster, "silent", session_ms=LONG_MS)
    joined_group(cluster, leader, silent)
    leader.sync()
    cluster.advance(REBALANCE_MS - 1)
    assert cluster.state == "Stable"
    cluster.advance(1)
    assert cluster.state == "PreparingRebalance"
    assert silent.heartbeat() == UNKNOWN
    leader.join()
    settle([leader])


def test_a_leader_that_does_not_assign_is_removed(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader", session_ms=LONG_MS), dynamic(cluster, "follower")
    joined_group(cluster, leader, follower)
    assert follower.sync().waits
    cluster.advance(REBALANCE_MS)
    assert follower.synced.response.error_code == REBALANCING
    assert leader.heartbeat() == UNKNOWN
    follower.join()
    settle([follower])
    assert follower.leads


def test_if_all_have_asked_nobody_is_removed(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader", session_ms=LONG_MS), dynamic(cluster, "follower", session_ms=LONG_MS)
    joined_group(cluster, leader, follower)
    leader.sync()
    follower.sync()
    cluster.advance(2 * REBALANCE_MS)
    assert cluster.state == "Stable"


def test_a_session_starts_with_the_assignment(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader", session_ms=LONG_MS), dynamic(cluster, "follower")
    joined_group(cluster, leader, follower)
    follower.sync()
    cluster.advance(SESSION_MS + 1)  # it waits, and cannot send heartbeats
    leader.sync()
    cluster.advance(SESSION_MS - 1)
    assert cluster.state == "Stable"
    cluster.advance(1)
    assert cluster.state == "PreparingRebalance"


def test_a_repeated_sync_replaces_the_one_that_waits(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader"), dynamic(cluster, "follower")
    joined_group(cluster, leader, follower)
    lost = follower.sync()
    assert follower.sync().waits
    assert lost.response.error_code == REBALANCING
    leader.sync()
    assert follower.synced.response.error_code == NONE
    assert cluster.waiting == 0


def test_assignments_that_are_too_large_for_the_log_change_nothing(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader"), dynamic(cluster, "follower")
    joined_group(cluster, leader, follower)
    follower.sync()
    cluster.loses = True
    leader.sync({follower.member_id: b"F"})
    cluster.loses = False
    assert cluster.state == "CompletingRebalance"
    assert follower.synced.waits
    leader.sync({follower.member_id: b"f"})
    assert follower.synced.response.assignment == b"f"


def test_a_round_that_is_cut_short_leaves_no_assignments(cluster: Cluster) -> None:
    leader, follower = dynamic(cluster, "leader"), dynamic(cluster, "follower")
    stable(cluster, leader, follower)
    leader.join()
    assert {each.member_assignment for each in cluster.groups.describe(GROUP).members} != {b""}
    follower.join()
    leader.learn()
    follower.protocols = {"range": b"less"}
    follower.join()
    assert cluster.state == "PreparingRebalance"
    assert {each.member_assignment for each in cluster.groups.describe(GROUP).members} == {b""}


def test_while_the_leader_assigns_members_may_send_heartbeats_and_not_commit(cluster: Cluster) -> None:
    leader = dynamic(cluster, "leader")
    joined_group(cluster, leader)
    assert leader.heartbeat() == NONE
    with pytest.raises(BrokerError) as caught:
        cluster.groups.check_commit(GROUP, OffsetCommitter(leader.member_id, None, 1), cluster.now_ms)
    assert caught.value.code == REBALANCING


def test_during_a_round_members_of_the_last_generation_commit(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first)
    second.join()
    cluster.advance(SESSION_MS - 1)
    cluster.groups.check_commit(GROUP, OffsetCommitter(first.member_id, None, 1), cluster.now_ms)
    cluster.advance(SESSION_MS - 1)
    assert first.heartbeat() == REBALANCING
    assert first.heartbeat(generation_id=0) == ErrorCode.ILLEGAL_GENERATION
    assert first.sync().response.error_code == REBALANCING


# ----------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("session_ms", "is_valid"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_p_bounds_of_the_session_timeout(cluster: Cluster, session_ms: int, is_valid: bool) -> None:
    response = static(cluster, "one", session_ms=session_ms, member_id="" if is_valid else "some").send_join()
    if is_valid:
        assert response.waits
    else:
        assert response.response == refused(ErrorCode.INVALID_SESSION_TIMEOUT, "some")
        assert cluster.groups.groups == {}


def test_a_full_group_lets_nobody_in() -> None:
    cluster = Cluster(max_size=2)
    first, second, third = (dynamic(cluster, name) for name in ("first", "second", "third"))
    stable(cluster, first, second)
    assert third.send_join().response == refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
    second.leave()
    first.join()
    settle([first])
    assert third.join().waits


def test_during_a_round_the_last_ones_stay_out_if_the_limit_was_lowered() -> None:
    cluster = Cluster()
    clients = [dynamic(cluster, str(number)) for number in range(3)]
    stable(cluster, *clients)
    cluster.settings = type(cluster.settings)(max_size=2)
    cluster.move()
    assert cluster.state == "PreparingRebalance"
    for client in clients[:2]:
        assert client.join().waits
    assert clients[2].heartbeat() == REBALANCING
    assert clients[2].join().response == refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert clients[2].heartbeat() == UNKNOWN
    cluster.advance(REBALANCE_MS)
    settle(clients[:2])


def test_without_a_group_id(cluster: Cluster) -> None:
    assert cluster.groups.groups == {}
    groups = cluster.groups
    client = Client(cluster, member_id="m", generation=1)
    invalid = ErrorCode.INVALID_GROUP_ID
    assert client.send_join(group_id="").response == refused(invalid, "m")
    assert client.sync(group_id="").response.error_code == invalid
    assert client.heartbeat(group_id="") == invalid
    response = cluster.leave(group_id="")
    assert (response.error_code, response.members) == (invalid, ())
    assert groups.groups == {}
