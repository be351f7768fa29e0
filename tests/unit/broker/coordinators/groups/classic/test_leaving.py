"""LeaveGroup: members that leave, and members that an administrator removes (KIP-345, KIP-800)."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponseMember,
)
from tests.unit.broker.coordinators.groups.classic.driving import (
    DELAY_MS,
    GROUP,
    NONE,
    Cluster,
    dynamic,
    settle,
    stable,
    static,
)

FENCED = ErrorCode.FENCED_INSTANCE_ID
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def leaving(member_id: str = "", instance: str | None = None, reason: str | None = None) -> LeaveGroupRequestMember:
    return LeaveGroupRequestMember(member_id=member_id, group_instance_id=instance, reason=reason)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_k_a_batch_has_a_result_for_each_member_and_one_rebalance(cluster: Cluster, version: int) -> None:
    stays, known, alone, paired = (static(cluster, name) for name in ("stays", "known", "alone", "paired"))
    member = dynamic(cluster, "dynamic")
    stable(cluster, stays, known, alone, paired, member)
    requested = [
        leaving(instance="known", reason="scaled down"),
        leaving(instance="nobody"),
        leaving(stays.member_id, "paired"),
        leaving(member.member_id),
        leaving(""),
        leaving(""),
        leaving(alone.member_id),
        leaving(instance="known"),
        leaving("gone"),
        leaving(paired.member_id, "paired"),
    ]
    response = cluster.leave(*requested, version=version)
    assert response.error_code == NONE
    assert [each.error_code for each in response.members] == [
        NONE, UNKNOWN, FENCED, NONE, UNKNOWN, UNKNOWN, NONE, UNKNOWN, UNKNOWN, NONE,
    ]  # fmt: skip
    for result, request in zip(response.members, requested, strict=True):
        assert (result.member_id, result.group_instance_id) == (request.member_id, request.group_instance_id)
    assert cluster.state == "PreparingRebalance"
    assert cluster.group.static_members == {"stays": stays.member_id}
    stays.join()
    settle([stays])
    assert cluster.group.generation == 2


def test_k_if_nobody_leaves_there_is_no_rebalance(cluster: Cluster) -> None:
    stable(cluster, static(cluster, "one"))
    cluster.leave(leaving("gone"), leaving(instance="nobody"))
    assert cluster.state == "Stable"


def test_k_a_group_that_does_not_exist(cluster: Cluster) -> None:
    response = cluster.leave(leaving("m", "one"), leaving())
    assert response.error_code == NONE
    assert response.members == (
        LeaveGroupResponseMember(member_id="m", group_instance_id="one", error_code=UNKNOWN),
        LeaveGroupResponseMember(member_id="", error_code=UNKNOWN),
    )
    assert cluster.groups.groups == {}


def test_k_an_empty_group(cluster: Cluster) -> None:
    cluster.groups.ensure(GROUP)
    assert [each.error_code for each in cluster.leave(leaving("m")).members] == [UNKNOWN]
    assert cluster.state == "Empty"


@pytest.mark.parametrize("version", [0, 2])
def test_before_version_3_there_is_one_member_and_one_error(cluster: Cluster, version: int) -> None:
    client = dynamic(cluster, "app", version=3)

    def leave(member_id: str) -> ErrorCode:
        request = LeaveGroupRequest(group_id=GROUP, member_id=member_id)
        response = cluster.commit(cluster.groups.leave(request, version, cluster.now_ms)).response
        assert response.members == ()
        return response.error_code

    assert leave("m") == UNKNOWN
    stable(cluster, client)
    assert leave("m") == UNKNOWN
    assert leave(client.member_id) == NONE
    assert cluster.state == "Empty"


def test_requests_of_a_removed_member_get_a_response(cluster: Cluster) -> None:
    leader, follower = static(cluster, "one"), static(cluster, "two")
    leader.join()
    follower.join()
    cluster.advance(2 * DELAY_MS)
    leader.learn()
    follower.learn()
    follower.sync()
    cluster.leave_instance("two")
    assert follower.synced.response.error_code == UNKNOWN
    leader.join()
    settle([leader])
    third = static(cluster, "three")
    third.join()
    cluster.leave_instance("three")
    assert third.joined.response.error_code == UNKNOWN
    assert cluster.waiting == 0


def test_the_departure_of_the_last_that_is_missing_ends_the_round(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first, second)
    first.join()
    second.leave()
    settle([first])


def test_an_id_that_was_given_can_leave(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first)
    second.member_id = second.send_join().response.member_id
    first.join()
    assert first.joined.waits
    assert second.leave() == NONE
    settle([first])


def test_if_the_leader_leaves_another_member_leads(cluster: Cluster) -> None:
    first, second = dynamic(cluster, "first"), dynamic(cluster, "second")
    stable(cluster, first, second)
    first.leave()
    second.join()
    settle([second])
    assert second.leads
