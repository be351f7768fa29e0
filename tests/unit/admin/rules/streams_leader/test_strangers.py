"""Members whose topology is not that of the leader."""

import asyncio

from attrs import evolve

from kafka_groups.admin.rules.streams_leader.leading import ask_for_round, led_round
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.admin.rules.streams_leader.scenes import IN, NOW_MS, WORDS, A, group, led, member, tasks

ONE = tasks("1_0")[0]


def test_members_with_the_same_topology_are_worth_no_warning() -> None:
    assert led(group(member("m", A, ONE, sums=((ONE, 3),)), member("n"))).warnings == ()


def test_one_warning_names_all_strange_members() -> None:
    strange = member("b", sums=((TaskId("9", 1), 3), (TaskId("10", 0), 3)))
    owner = evolve(member("a", A, ONE), owned=frozenset([TopicPartition("gone", 4), TopicPartition(WORDS, 9)]))
    [warning] = led(group(strange, owner, member("c"))).warnings
    assert warning.startswith("Members of the group have another topology than this member")
    assert warning.endswith(f": a (owns {WORDS}-9, gone-4), b (has state of 9_1, 10_0).")


def test_other_topics_are_named() -> None:
    case = group(member("m"), member("n"))
    members = {**case.round.members, "n": member("n").subscription([IN, "other"])}
    round_ = asyncio.run(ask_for_round(case.topics, case.topics, evolve(case.round, members=members)))
    [warning] = led_round(round_, NOW_MS).warnings
    assert warning.endswith(f": n (also reads other; does not read {WORDS}).")
