"""What older versions of the responses show of a group with static members (KIP-345)."""

from typing import Any

import pytest

from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.codec import decode_response, encode_response
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponse
from tests.unit.broker.coordinators.groups.classic.driving import (
    DELAY_MS,
    GROUP,
    NEWEST,
    Cluster,
    dynamic,
    stable,
    static,
)


def as_read(response: object, version: int) -> Any:
    return decode_response(encode_response(response, version, 1), api_of(type(response)).key, version)


@pytest.mark.parametrize("version", range(2, NEWEST + 1))
def test_q_instance_ids_of_members_from_version_5_on(version: int) -> None:
    cluster = Cluster()
    leader, follower = dynamic(cluster, "leader", version=version), static(cluster, "one")
    leader.join()
    follower.join()
    cluster.advance(2 * DELAY_MS)
    response = as_read(leader.learn(), version)
    assert leader.leads
    members = {member.group_instance_id for member in response.members}
    assert members == ({None, "one"} if version >= 5 else {None})
    assert len(response.members) == 2
    assert response.protocol_name == "range"


@pytest.mark.parametrize("version", range(7))
def test_q_descriptions_contain_instance_ids_from_version_4_on(version: int) -> None:
    cluster = Cluster()
    stable(cluster, static(cluster, "one"))
    described = DescribeGroupsResponse(groups=(cluster.groups.describe(GROUP),))
    (group,) = as_read(described, version).groups
    assert group.members[0].group_instance_id == ("one" if version >= 4 else None)
    assert group.members[0].client_id == "of-one"
    assert group.group_state == "Stable"


def test_while_members_join_descriptions_contain_their_assignments_and_no_metadata() -> None:
    cluster = Cluster()
    client = static(cluster, "one")
    stable(cluster, client)
    dynamic(cluster, "two").join()
    group = cluster.groups.describe(GROUP)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [each.member_assignment for each in group.members] == [client.member_id.encode(), b""]
    assert [each.member_metadata for each in group.members] == [b"", b""]
