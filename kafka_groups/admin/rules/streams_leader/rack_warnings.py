"""Warnings of a leader about racks and tags that are configured and cannot count."""

from collections.abc import Iterator

from kafka_groups.admin.rules.streams_leader.leader_input import rack_of
from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions
from kafka_groups.assignment import AssignmentConfigs, RackAwareStrategy
from kafka_groups.client.events import listed
from kafka_groups.errors.texts import named, sentences
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_CLIENT_TAGS

__all__ = ["warnings_about_racks"]


def warnings_about_racks(
    configs: AssignmentConfigs, subscriptions: Subscriptions, racks: ReplicaRacks
) -> Iterator[str]:
    """Yield a sentence or two for each reason why racks, or tags, do not count although they are configured.

    Args:
        configs: The configuration of the assignment.
        subscriptions: The members.
        racks: The racks of replicas, as far as the assignor has asked for them.
    """
    if racks.failure is not None:
        yield sentences(
            f"The racks of new internal topics are not known, so racks do not count yet: {named(racks.failure)}"
        )
    strategy = configs.rack_aware_assignment_strategy
    if strategy is not RackAwareStrategy.NONE and (reason := _reason(subscriptions, racks)):
        yield sentences(f"rack.aware.assignment.strategy is {strategy.value}, but racks do not count now: {reason}")
    old = sorted(id_ for id_, each in subscriptions.members.items() if each.version < FIRST_WITH_CLIENT_TAGS)
    if configs.rack_aware_assignment_tags and old:
        yield sentences(
            f"rack.aware.assignment.tags has no effect on the members {listed(old)}: they send no client tags, since "
            f"they, or others in the group, run Kafka Streams 3.1 or older",
            "Upgrade these to 3.2 or later",
        )


def _reason(subscriptions: Subscriptions, racks: ReplicaRacks) -> str | None:
    without = sorted(id_ for id_, each in subscriptions.members.items() if not each.rack_id)
    if without:
        return f"the members {listed(without)} have no rack. Set client.rack in all instances"
    for process_id, members in subscriptions.processes.items():
        if rack_of(members) is None:
            ids = listed(sorted(each.member_id for each in members))
            return f"the members {ids} of process {process_id} have different racks. Give them the same client.rack"
    without_rack = sorted({partition.topic for partition, found in racks.used.items() if found == frozenset()})
    if without_rack:
        return f"no broker with a replica of {listed(without_rack)} has a rack. Set broker.rack on all brokers"
    return None
