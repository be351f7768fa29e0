"""Defects planted on purpose in what a leader makes of racks and tags: the comparison with Java's must show each."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from kafka_groups.admin.rules.streams_leader import leader_input, leading
from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions, read_subscriptions
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.assignment.application.neutral import ApplicationInput
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from tests.support.planted_defects import Patch, by_name

__all__ = ["RACK_DEFECTS"]


def tags_are_those_of_the_first_member(patch: Patch) -> None:
    """All processes have the tags of one member."""
    _change_members(patch, lambda member, first: evolve(member, client_tags=first.client_tags))


def racks_are_those_of_the_first_member(patch: Patch) -> None:
    """All processes are in the rack of one member."""
    _change_members(patch, lambda member, first: evolve(member, rack_id=first.rack_id))


def _change_members(patch: Patch, change: Any) -> None:
    def read(members: Mapping[str, bytes]) -> Subscriptions:
        found = read_subscriptions(members)
        first = next(iter(found.members.values()))
        return evolve(found, members={id_: change(each, first) for id_, each in found.members.items()})

    patch.setattr(leading, "read_subscriptions", read)


def a_process_has_the_rack_of_any_of_its_members(patch: Patch) -> None:
    """Racks count although members of a process contradict each other."""
    patch.setattr(
        leader_input, "rack_of", lambda members: next((each.rack_id for each in members if each.rack_id), None)
    )


def members_of_other_versions_count_for_the_latest(patch: Patch) -> None:
    """Versions are mixed up: the group uses the highest that was received, and not the lowest."""

    def read(members: Mapping[str, bytes]) -> Subscriptions:
        found = read_subscriptions(members)
        return evolve(found, version=min(LATEST_VERSION, max(each.version for each in found.members.values())))

    patch.setattr(leading, "read_subscriptions", read)


def topics_that_were_just_created_have_no_racks(patch: Patch) -> None:
    """Nobody waits until the metadata shows them."""

    async def nothing(*_given: Any) -> dict[str, TopicReplicas]:
        return {}

    patch.setattr(leading, "new_topics", nothing)


def replicas_are_the_leaders_only(patch: Patch) -> None:
    """Only the first replica of a partition counts."""
    racks_of = TopicReplicas.racks_of

    def of_leader(self: TopicReplicas, partition: int) -> frozenset[str] | None:
        nodes = {number: each[:1] for number, each in self.nodes.items()}
        return racks_of(evolve(self, nodes=nodes), partition)

    patch.setattr(TopicReplicas, "racks_of", of_leader)


def racks_belong_to_other_partitions(patch: Patch) -> None:
    """A partition has the racks of partition 0 of its topic."""
    find = ReplicaRacks.__call__
    patch.setattr(ReplicaRacks, "__call__", lambda self, partition: find(self, evolve(partition, partition=0)))


def without(**configs: Any) -> Any:
    """Leave out a part of the configuration."""

    def plant(patch: Patch) -> None:
        made = ApplicationInput
        patch.setattr(
            leader_input,
            "ApplicationInput",
            lambda **given: made(**{**given, "configs": evolve(given["configs"], **configs)}),
        )

    return plant


RACK_DEFECTS = {
    **by_name(
        tags_are_those_of_the_first_member,
        racks_are_those_of_the_first_member,
        a_process_has_the_rack_of_any_of_its_members,
        members_of_other_versions_count_for_the_latest,
        topics_that_were_just_created_have_no_racks,
        replicas_are_the_leaders_only,
        racks_belong_to_other_partitions,
    ),
    "the_tags_are_forgotten": without(rack_aware_assignment_tags=()),
    "the_strategy_is_forgotten": without(rack_aware_assignment_strategy="none"),
    "the_traffic_cost_is_forgotten": without(rack_aware_traffic_cost=None),
    "the_non_overlap_cost_is_forgotten": without(rack_aware_non_overlap_cost=None),
}
