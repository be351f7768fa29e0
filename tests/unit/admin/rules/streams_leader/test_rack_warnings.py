"""Warnings about racks and tags that are configured and cannot count."""

from typing import Any

import pytest

from kafka_groups.admin.rules.streams_leader.rack_warnings import warnings_about_racks
from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.streams_leader.subscriptions import read_subscriptions
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.assignment import AssignmentConfigs, RackAwareStrategy
from kafka_groups.errors import RequestTimedOutError
from kafka_groups.types import TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.unit.admin.rules.streams_leader.scenes import A, B, group, member

TRAFFIC = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
TAGS = AssignmentConfigs(rack_aware_assignment_tags=("zone",))
RACKED = (member("a", A, rack="1"), member("b", B, rack="2"))


def warnings(configs: AssignmentConfigs, *members: ToldMember, racks: ReplicaRacks | None = None) -> list[str]:
    read = read_subscriptions(group(*members).subscriptions)
    return list(warnings_about_racks(configs, read, racks or ReplicaRacks({})))


def used(**racks: str | None) -> ReplicaRacks:
    found = ReplicaRacks({name: TopicReplicas({0: (0,)}, {0: rack}) for name, rack in racks.items()})
    assert [found(TopicPartition(name, 0)) for name in racks]
    return found


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ((member("a", rack="1"), member("c"), member("b", B)), "the members b, c have no rack. Set client.rack in all"),
        ((member("a", rack="1"), member("b", B, rack="")), "the members b have no rack"),
        ((member("a", rack="1"), member("b", rack="2")), f"the members a, b of process {A} have different racks. Give"),
    ],
)
def test_members_without_a_rack_are_named(members: tuple[ToldMember, ...], named: str) -> None:
    [text] = warnings(TRAFFIC, *members)
    assert text.startswith("rack.aware.assignment.strategy is min_traffic, but racks do not count now: the members")
    assert named in text
    assert warnings(AssignmentConfigs(), *members) == []


def test_topics_whose_replicas_have_no_rack_are_named() -> None:
    [text] = warnings(TRAFFIC, *RACKED, racks=used(b=None, a="1", c=None))
    assert "no broker with a replica of b, c has a rack. Set broker.rack on all brokers" in text
    assert warnings(TRAFFIC, *RACKED, racks=used(a="1")) == []


def test_racks_of_new_topics_that_the_brokers_do_not_tell() -> None:
    racks = ReplicaRacks({}, RequestTimedOutError("late"))
    assert warnings(AssignmentConfigs(), *RACKED, racks=racks) == [
        "The racks of new internal topics are not known, so racks do not count yet: RequestTimedOutError: late."
    ]


@pytest.mark.parametrize("version", [6, 10])
def test_members_that_send_no_tags_are_named(version: int) -> None:
    old: Any = {"version": version, "tags": {"zone": "a"}}
    [text] = warnings(TAGS, member("b", B, **old), member("c", A, version=11), member("a", **old))
    assert text.startswith("rack.aware.assignment.tags has no effect on the members a, b: they send no client tags")
    assert warnings(AssignmentConfigs(), member("b", B, **old)) == []
    assert warnings(TAGS, member("a", version=11)) == []
