"""Rounds of our leader without brokers, and assignments in a form in which leaders can be compared."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kafka_groups.admin.rules.streams_leader.group_round import LedRound
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round, led_round
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.types import TopicPartition
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import LeaderCase

__all__ = ["decoded", "led", "without_threads_of_copies"]


def led(case: LeaderCase, topics: AnsweringTopics | None = None) -> LedRound:
    """Lead a round."""
    topics = topics or case.topics
    return led_round(asyncio.run(ask_for_round(topics, topics, case.round)), case.now_ms)


def decoded(data: bytes) -> dict[str, Any]:
    """Return an assignment without the order that Java's hash tables give it."""
    assignment = ConsumerProtocolAssignment.decode(data)
    info = decode_assignment(assignment.user_data)
    partitions = sorted(
        TopicPartition(topic, number) for topic, numbers in assignment.assigned_partitions.items() for number in numbers
    )
    return {
        "version": (assignment.version, info.version, info.commonly_supported_version),
        "tasks": dict(zip(partitions, info.active_tasks, strict=True)),
        "standby": {task: sorted(inputs) for task, inputs in info.standby_tasks},
        "error": info.error_code,
        "next": info.next_rebalance_ms,
        "hosts": {host: sorted(owned) for host, owned in info.host_maps.active},
        "hosts of copies": {host: sorted(owned) for host, owned in info.host_maps.standby},
    }


def without_threads_of_copies(case: LeaderCase, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return decoded assignments with the copies of each process at one of its members.

    Java goes over the copies of a user's assignor in the order of a hash table, and it says which thread gets a copy
    that is left over.
    """
    found = {member_id: dict(each) for member_id, each in given.items()}
    first: dict[UUID | None, str] = {}
    for member in sorted(case.members, key=lambda it: it.member_id):
        at = first.setdefault(member.of_process, member.member_id)
        if at != member.member_id:
            found[at]["standby"] = {**found[at]["standby"], **found[member.member_id]["standby"]}
            found[member.member_id]["standby"] = {}
    return found
