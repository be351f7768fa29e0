"""Static membership (KIP-345), as in Kafka 4.4: restarts, fencing, timeouts, moves of the coordinator."""

import pytest

from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.errors import FencedInstanceIdError, IllegalGenerationError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from tests.unit.broker.coordinators.groups.classic.driving import (
    DELAY_MS,
    GROUP,
    NONE,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    Cluster,
    RefusedError,
    dynamic,
    settle,
    stable,
    static,
)

FENCED = ErrorCode.FENCED_INSTANCE_ID
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def group_of_two(cluster: Cluster, **fields: object) -> tuple[Client, Client]:
    leader, follower = static(cluster, "one", **fields), static(cluster, "two", **fields)
    stable(cluster, leader, follower)
    return leader, follower


# ------------------------------------------------------------------------------------------ (a) to (f): restarts


def test_a_new_instance_is_a_new_member_at_once(cluster: Cluster) -> None:
    old, _ = group_of_two(cluster)
    new = static(cluster, "three")
    assert new.send_join().waits  # never MEMBER_ID_REQUIRED
    assert cluster.state == "PreparingRebalance"
    assert old.heartbeat() == REBALANCING
    assert not cluster.group.pending_joins


@pytest.mark.parametrize("version", [5, 8, 9])
def test_b_a_restarted_follower_gets_a_new_id_and_its_assignment_without_a_rebalance(
    cluster: Cluster, version: int
) -> None:
    leader, follower = group_of_two(cluster, version=version)
    cluster.advance(4_000)
    new = follower.restarted()
    response = new.join().response
    assert (response.error_code, response.generation_id) == (NONE, follower.generation)
    assert response.member_id not in ("", follower.member_id)
    assert response.member_id.startswith("two-")
    assert response.leader == leader.member_id
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert not response.skip_assignment
    assert response.members == ()
    new.learn()
    assert new.sync().response.assignment == follower.member_id.encode()
    assert cluster.state == "Stable"
    assert leader.heartbeat() == new.heartbeat() == NONE
    assert follower.heartbeat() == FENCED


def test_c_a_restarted_leader_gets_the_members_and_skips_the_assignment(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    new = leader.restarted()
    response = new.join().response
    assert response.skip_assignment
    assert response.leader == response.member_id != leader.member_id
    assert response.generation_id == leader.generation
    members = {member.member_id: member for member in response.members}
    assert members.keys() == {response.member_id, follower.member_id}
    assert members[response.member_id].group_instance_id == "one"
    assert members[response.member_id].metadata == b"all"
    new.learn()
    assert new.sync().response.assignment == leader.member_id.encode()
    assert cluster.group.leader == new.member_id


@pytest.mark.parametrize("version", [5, 8])
def test_c_before_version_9_it_is_told_that_its_old_id_leads(cluster: Cluster, version: int) -> None:
    leader, follower = group_of_two(cluster, version=version)
    new = leader.restarted()
    response = new.join().response
    assert response.leader == leader.member_id != response.member_id
    assert response.members == ()
    assert not response.skip_assignment
    new.learn()
    assert new.sync().response.assignment == leader.member_id.encode()
    assert cluster.group.leader == new.member_id
    assert follower.restarted().join().response.leader == new.member_id


def test_d_a_restart_that_changes_the_selected_protocol_starts_a_rebalance(cluster: Cluster) -> None:
    both = {"range": b"all", "sticky": b"all"}
    leader, follower = group_of_two(cluster, protocols=both)
    assert cluster.group.protocol == "range"
    new = follower.restarted(protocols={"sticky": b"all"})
    assert new.join().waits
    assert cluster.state == "PreparingRebalance"
    assert follower.heartbeat() == FENCED
    leader.join()
    settle([leader, new])
    assert cluster.group.protocol == "sticky"
    assert cluster.group.generation == 2


def test_d_a_restart_with_other_protocols_that_choose_the_same_does_not(cluster: Cluster) -> None:
    both = {"range": b"all", "sticky": b"all"}
    _, follower = group_of_two(cluster, protocols=both)
    assert not follower.restarted(protocols={"range": b"some"}).join().waits
    assert cluster.state == "Stable"
    described = {member.group_instance_id: member for member in cluster.groups.describe(GROUP).members}
    assert described["two"].member_metadata == b"some"


def test_e_a_restart_while_the_leader_assigns_starts_another_round(cluster: Cluster) -> None:
    leader, follower = static(cluster, "one"), static(cluster, "two")
    for client in (leader, follower):
        client.join()
    cluster.advance(2 * DELAY_MS)
    leader.learn()
    follower.learn()
    assert follower.sync().waits
    new = follower.restarted()
    assert new.join().waits
    assert follower.synced.response.error_code == FENCED
    assert leader.sync().response.error_code == REBALANCING
    leader.join()
    settle([leader, new])


def test_e_followers_that_wait_for_the_leader_are_sent_back(cluster: Cluster) -> None:
    leader, follower, third = static(cluster, "one"), static(cluster, "two"), dynamic(cluster, "three")
    for client in (leader, follower, third):
        client.join()
    cluster.advance(2 * DELAY_MS)
    for client in (leader, follower, third):
        client.learn()
    assert third.sync().waits
    leader.restarted().join()
    assert third.synced.response.error_code == REBALANCING
    assert third.synced.response.assignment == b""


def test_f_a_restart_during_a_round_joins_it(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    newcomer = static(cluster, "three")
    newcomer.join()
    assert follower.join().waits
    new = follower.restarted()
    assert new.join().waits
    fenced = follower.joined.response
    assert (fenced.error_code, fenced.member_id, fenced.generation_id) == (FENCED, follower.member_id, -1)
    assert fenced.protocol_name is None
    leader.join()
    settle([leader, new, newcomer])
    assert cluster.group.generation == 2
    assert len(cluster.group.members) == 3


def test_f_before_version_7_the_protocol_of_the_fenced_one_is_empty(cluster: Cluster) -> None:
    first = static(cluster, "one", version=6)
    first.join()
    first.restarted().join()
    assert first.joined.response.error_code == FENCED
    assert first.joined.response.protocol_name == ""


def test_f_in_the_first_round_the_restarted_leader_leads(cluster: Cluster) -> None:
    first = static(cluster, "one")
    first.join()
    new = first.restarted()
    new.join()
    cluster.advance(2 * DELAY_MS)
    settle([new])


# ------------------------------------------------------------------------------------- (g) and (h): known ids


def test_g_a_leader_that_joins_again_starts_a_rebalance(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    assert leader.join().waits
    assert follower.heartbeat() == REBALANCING


def test_g_a_follower_that_joins_again_gets_the_current_generation(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    response = follower.join().response
    assert (response.error_code, response.generation_id, response.leader) == (NONE, 1, leader.member_id)
    assert (response.member_id, response.members) == (follower.member_id, ())
    assert cluster.state == "Stable"


def test_g_a_follower_with_other_metadata_starts_a_rebalance(cluster: Cluster) -> None:
    _, follower = group_of_two(cluster)
    follower.protocols = {"range": b"less"}
    assert follower.join().waits
    assert cluster.state == "PreparingRebalance"


def test_h_a_wrong_pair_is_fenced_everywhere(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    wrong = Client(cluster, instance="two", member_id=leader.member_id, generation=1)
    assert wrong.join().response.error_code == FENCED
    assert wrong.joined.response.member_id == leader.member_id
    assert wrong.sync().response.error_code == FENCED
    assert wrong.heartbeat() == FENCED
    assert wrong.leave() == FENCED
    with pytest.raises(FencedInstanceIdError):
        cluster.groups.check_commit(GROUP, OffsetCommitter(leader.member_id, "two", 1), cluster.now_ms)
    assert cluster.state == "Stable"
    assert leader.heartbeat() == follower.heartbeat() == NONE


def test_h_an_unknown_instance_is_an_unknown_member_everywhere(cluster: Cluster) -> None:
    leader, _ = group_of_two(cluster)
    unknown = Client(cluster, instance="four", member_id=leader.member_id, generation=1)
    assert unknown.join().response.error_code == UNKNOWN
    assert unknown.sync().response.error_code == UNKNOWN
    assert unknown.heartbeat() == UNKNOWN
    assert unknown.leave() == UNKNOWN
    with pytest.raises(UnknownMemberIdError):
        cluster.groups.check_commit(GROUP, OffsetCommitter(leader.member_id, "four", 1), cluster.now_ms)


def test_h_the_instance_is_checked_before_the_generation(cluster: Cluster) -> None:
    leader, _ = group_of_two(cluster)
    wrong = Client(cluster, instance="two", member_id=leader.member_id, generation=0)
    assert wrong.heartbeat() == FENCED
    with pytest.raises(IllegalGenerationError):
        cluster.groups.check_commit(GROUP, OffsetCommitter(leader.member_id, "one", 0), cluster.now_ms)


# --------------------------------------------------------------------------------------- (i) and (j): timeouts


def test_i_the_rebalance_timeout_removes_dynamic_members_only(cluster: Cluster) -> None:
    leader, slow = static(cluster, "one", session_ms=600_000), static(cluster, "two", session_ms=600_000)
    gone = dynamic(cluster, "three", session_ms=600_000)
    stable(cluster, leader, slow, gone)
    leader.join()
    cluster.advance(REBALANCE_MS - 1)
    assert leader.joined.waits
    cluster.advance(1)
    assert {each.group_instance_id for each in leader.joined.response.members} == {"one", "two"}
    leader.learn()
    assert gone.heartbeat() == UNKNOWN
    assert slow.heartbeat(generation_id=2) == NONE


def test_i_an_absent_leader_is_replaced(cluster: Cluster) -> None:
    leader, follower = static(cluster, "one", session_ms=600_000), static(cluster, "two", session_ms=600_000)
    stable(cluster, leader, follower)
    newcomer = static(cluster, "three", session_ms=600_000)
    newcomer.join()
    cluster.advance(REBALANCE_MS)
    assert newcomer.joined.response.leader == newcomer.joined.response.member_id
    assert len(newcomer.joined.response.members) == 3


def test_i_if_nobody_came_back_the_round_goes_on(cluster: Cluster) -> None:
    leader, follower = static(cluster, "one", session_ms=200_000), static(cluster, "two", session_ms=200_000)
    newcomer = dynamic(cluster, "three")
    stable(cluster, leader, follower, newcomer)
    newcomer.leave()
    assert cluster.state == "PreparingRebalance"
    cluster.advance(REBALANCE_MS)
    assert cluster.state == "PreparingRebalance"
    assert cluster.group.generation == 1
    assert len(cluster.group.members) == 2
    cluster.advance(REBALANCE_MS - 1)
    assert follower.join().waits
    cluster.advance(1)
    assert follower.learn().generation_id == 2
    assert follower.leads


def test_j_the_session_timeout_removes_the_member_and_its_instance_with_one_rebalance(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    cluster.advance(SESSION_MS - 1)
    leader.heartbeat()
    assert cluster.state == "Stable"
    cluster.advance(1)
    assert cluster.state == "PreparingRebalance"
    assert cluster.group.static_members == {"one": leader.member_id}
    assert leader.heartbeat() == REBALANCING
    leader.join()
    settle([leader])
    assert cluster.group.generation == 2
    new = follower.restarted()
    assert new.join().waits
    leader.heartbeat()
    leader.join()
    settle([leader, new])
    assert cluster.group.generation == 3


def test_j_nothing_moves_if_a_member_is_away_for_less_than_that(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    cluster.advance(SESSION_MS - 1)
    leader.heartbeat()
    new = follower.restarted()
    new.join()
    new.learn()
    cluster.advance(SESSION_MS - 1)
    assert leader.heartbeat() == new.heartbeat() == NONE
    cluster.advance(SESSION_MS - 1)
    assert cluster.group.generation == 1
    assert cluster.state == "Stable"


# ------------------------------------------------------------------------------- (l) to (o): clients and brokers


def test_l_of_two_clients_with_one_instance_id_the_newer_goes_on(cluster: Cluster) -> None:
    older = static(cluster, "one")
    stable(cluster, older)
    newer = static(cluster, "one")
    newer.join()
    newer.learn()
    newer.sync()
    assert older.heartbeat() == FENCED
    with pytest.raises(FencedInstanceIdError):
        cluster.groups.check_commit(GROUP, OffsetCommitter(older.member_id, "one", 1), cluster.now_ms)
    assert older.leave() == FENCED
    assert older.join().response.error_code == FENCED
    assert newer.heartbeat() == NONE
    assert len(cluster.group.members) == 1


def test_m_after_a_move_of_the_coordinator_a_restart_still_moves_nothing(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    cluster.move()
    new_follower, new_leader = follower.restarted(), leader.restarted()
    for new, old in ((new_follower, follower), (new_leader, leader)):
        new.join()
        assert new.learn().generation_id == 1
        assert new.sync().response.assignment == old.member_id.encode()
        assert old.heartbeat() == FENCED
    cluster.move()
    assert new_leader.heartbeat() == new_follower.heartbeat() == NONE
    assert cluster.group.leader == new_leader.member_id
    assert cluster.state == "Stable"


def test_m_a_move_during_a_round_goes_back_to_the_last_generation(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    dynamic(cluster, "three").join()
    leader.join()
    cluster.move()
    assert cluster.state == "Stable"
    assert leader.heartbeat() == follower.heartbeat() == NONE
    assert len(cluster.group.members) == 2


def test_m_if_the_log_refuses_the_new_id_the_old_one_stays(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    cluster.refuses = True
    with pytest.raises(RefusedError):
        follower.restarted().join()
    cluster.refuses = False
    assert follower.heartbeat() == leader.heartbeat() == NONE
    assert follower.sync().response.assignment == follower.member_id.encode()


def test_m_as_long_as_the_record_is_not_stored_the_old_id_stays(cluster: Cluster) -> None:
    leader, follower = group_of_two(cluster)
    before = dict(cluster.group.members)
    cluster.loses = True
    follower.restarted().send_join()
    assert cluster.group.members == before
    assert follower.heartbeat() == leader.heartbeat() == NONE
    cluster.loses = False
    new = follower.restarted()
    new.join()
    assert new.learn().generation_id == 1
    assert new.sync().response.assignment == follower.member_id.encode()


def test_n_members_become_static_and_dynamic_again_in_a_mixed_group(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first, second)
    second.leave()
    now_static = static(cluster, "two")
    now_static.join()
    first.join()
    settle([first, now_static])
    assert cluster.group.static_members == {"two": now_static.member_id}
    assert cluster.leave_instance("two") == NONE
    again = dynamic(cluster, "second")
    again.join()
    first.join()
    settle([first, again])
    assert cluster.group.static_members == {}


def test_o_the_leader_always_sees_the_same_instances(cluster: Cluster) -> None:
    """So an assignor that sorts by instance id gives each one what it had."""
    leader, follower = group_of_two(cluster)
    before = [each.group_instance_id for each in leader.joined.response.members]
    new_follower, new_leader = follower.restarted(), leader.restarted()
    for client in (new_follower, new_leader):
        client.join()
        client.learn()
    new_leader.join()
    new_follower.join()
    settle([new_leader, new_follower])
    assert sorted(each.group_instance_id or "" for each in new_leader.joined.response.members) == before


def test_r_a_full_group_lets_no_static_member_back_in_as_in_kafka() -> None:
    cluster = Cluster(max_size=2)
    _, follower = group_of_two(cluster)
    response = follower.restarted().join().response
    assert (response.error_code, response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert follower.heartbeat() == NONE
    assert cluster.state == "Stable"


# ----------------------------------------------------------------------------------------------- Kafka's details


def test_a_restarted_member_keeps_the_client_id_of_the_first_start(cluster: Cluster) -> None:
    _, follower = group_of_two(cluster)
    follower.restarted(name="another").join()
    assert {member.client_id for member in cluster.groups.describe(GROUP).members} == {"of-one", "of-two"}


def test_a_restart_between_join_and_sync_leaves_a_sync_due(cluster: Cluster) -> None:
    leader, follower = static(cluster, "one", session_ms=600_000), static(cluster, "two", session_ms=600_000)
    leader.join()
    follower.join()
    cluster.advance(2 * DELAY_MS)
    leader.learn()
    follower.learn()
    leader.sync()
    assert cluster.state == "Stable"
    new = follower.restarted(session_ms=600_000)
    new.join()
    new.learn()
    new.sync()
    cluster.advance(REBALANCE_MS)
    assert cluster.state == "PreparingRebalance"
    assert len(cluster.group.members) == 2
