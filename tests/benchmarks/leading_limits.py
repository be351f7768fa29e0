"""What a round of a classic group takes beside time: memory, bytes that are made once for all, and growth."""

import asyncio
import gc
import statistics
import tracemalloc
from collections.abc import Callable, Iterator

from attrs import evolve

from kafka_groups.admin.rules.streams_leader.assignments import assignments_of_members, host_maps
from kafka_groups.admin.rules.streams_leader.hand_over import hand_over, inputs_of_tasks
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import HighAvailabilityTaskAssignor, Registered, StickyTaskAssignor
from kafka_groups.assignment.application.assignor_run import computed
from tests.benchmarks.aims import Aim
from tests.benchmarks.led_groups import NOW_MS, LeadingCase, assign, processor_seconds, settled_group

__all__ = ["leading_limits"]

_GROWTH = 5
_MOST_MEMORY, _MOST_FOR_ALL, _MOST_GROWTH = 3.0, 2.0, 40.0


def leading_limits(members: int, tasks: int, rounds: int) -> Iterator[Aim]:
    """Measure a group with endpoints, and how the sticky assignor's round grows with the group."""
    case = LeadingCase(members, tasks, 1, has_hosts=True)
    yield Aim("memory of a round above its assignor's, by the bytes sent", _memory(case), _MOST_MEMORY)
    yield Aim("encoding all assignments, by the time for one", _median(lambda: _for_all(case), rounds), _MOST_FOR_ALL)
    larger = _sticky_s(members * _GROWTH, tasks * _GROWTH)
    usual = _median(lambda: _sticky_s(members, tasks), rounds)
    yield Aim(f"sticky: {_GROWTH} times as many members and tasks, by the time", larger / usual, _MOST_GROWTH)


def _median(work: Callable[[], float], times: int) -> float:
    return statistics.median(work() for _ in range(times))


def _asked(case: LeadingCase) -> AskedRound:
    given, topics = settled_group(case)
    return asyncio.run(ask_for_round(topics, topics, given))


def _memory(case: LeadingCase) -> float:
    asked = _asked(case)
    sent = led_round(asked, NOW_MS).size_bytes  # and all modules are loaded
    alone = _peak_bytes(lambda: assign(asked))
    return (_peak_bytes(lambda: led_round(asked, NOW_MS)) - alone) / sent


def _peak_bytes(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    kept = work()  # the assignments count
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return found


def _for_all(case: LeadingCase) -> float:
    asked = _asked(case)
    given = leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, NOW_MS)
    target = computed(Registered(HighAvailabilityTaskAssignor), given).outcome.group_assignment.members
    inputs = inputs_of_tasks(asked.tasks)
    every = hand_over(target, asked.subscriptions, asked.tasks, inputs, {})

    def encode(count: int) -> None:
        maps = host_maps(asked.subscriptions, target, inputs)
        some = dict(list(every.items())[:count])
        for each in assignments_of_members(asked.subscriptions, some, inputs, maps).values():
            each.encode()

    return processor_seconds(lambda: encode(len(every))) / processor_seconds(lambda: encode(1))


def _sticky_s(members: int, tasks: int) -> float:
    given, topics = settled_group(LeadingCase(members, tasks, 0, has_hosts=False))
    sticky = evolve(given, settings=evolve(given.settings, assignor=Registered(StickyTaskAssignor)))
    return processor_seconds(lambda: led_round(asyncio.run(ask_for_round(topics, topics, sticky)), NOW_MS))
