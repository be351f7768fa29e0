"""A small application, and members of its group."""

import asyncio
from typing import Any
from uuid import UUID

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.admin.rules.streams_leader.group_round import LedRound
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import AssignmentConfigs
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import LeaderCase, ToldMember

IN, WORDS, COUNTS = "in", "app-words-repartition", "app-counts-changelog"
SPLITTING = Subtopology(subtopology_id="0", source_topics=(IN,), repartition_sinks=(WORDS,))
COUNTING = Subtopology(
    subtopology_id="1",
    repartition_sources=(RepartitionTopic(WORDS, configs={"cleanup.policy": "delete"}),),
    changelogs=(ChangelogTopic(COUNTS, {"cleanup.policy": "compact"}),),
)
WORD_COUNT = GroupTopology((SPLITTING, COUNTING))
"""Reads IN, splits lines into WORDS, and counts them in COUNTS."""

A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)
NOW_MS = 1_800_000_000_000
ALL_COUNTS = {IN: 2, WORDS: 2, COUNTS: 2}


def member(member_id: str, process_id: UUID = A, *owned: TaskId, **told: Any) -> ToldMember:
    """A member that owns tasks of the application."""
    inputs = {TopicPartition(IN if task.subtopology_id == "0" else WORDS, task.partition) for task in owned}
    return ToldMember(member_id=member_id, process_id=process_id, owned=frozenset(inputs), **told)


def group(*members: ToldMember, **more: Any) -> LeaderCase:
    """A group of which the first member leads."""
    return LeaderCase(
        **{
            "topology": WORD_COUNT,
            "counts": ALL_COUNTS,
            "ends": {COUNTS: (0, 0)},
            "committed": {},
            "configs": AssignmentConfigs(),
            "now_ms": NOW_MS,
            **more,
        },
        members=members,
    )


def asked(case: LeaderCase, topics: AnsweringTopics | None = None) -> AskedRound:
    """A round about which the topics of a group have been asked."""
    topics = topics or case.topics
    return asyncio.run(ask_for_round(topics, topics, case.round))


def led(case: LeaderCase, topics: AnsweringTopics | None = None) -> LedRound:
    """A round from beginning to end."""
    return led_round(asked(case, topics), case.now_ms)


def infos(done: LedRound) -> dict[str, AssignmentInfo]:
    """The user data of the assignments, by member id."""
    return {
        id_: decode_assignment(ConsumerProtocolAssignment.decode(data).user_data)
        for id_, data in done.assignments.items()
    }


def tasks(*words: str) -> tuple[TaskId, ...]:
    """Tasks by their ids."""
    return tuple(map(TaskId.parse, words))
