"""What a leader computes runs on threads, and an assignor never twice at a time in one process."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.member.leader_computation import (
    ASSIGNORS,
    BusyAssignors,
    ComputationTimes,
    Elsewhere,
    LeaderComputation,
    in_thread,
)
from kafka_groups.testing.simulation.virtual_time import Simulation, VirtualTimeLoop, run_simulated

T = TypeVar("T")
ASSIGNOR, OTHER = object(), object()
TIMES = ComputationTimes(slow_ms=20_000, limit_ms=150_000, pause_ms=1_000)


class Gates:
    """Functions on threads that a test lets return, and what they have done."""

    def __init__(self) -> None:
        self.gates: list[threading.Event] = []
        self.begun: list[threading.Event] = []
        self.threads: set[int] = set()
        self.most: Counter[object] = Counter()
        self._now: Counter[object] = Counter()

    def function(self, assignor: object = ASSIGNOR) -> Callable[[], int]:
        """Return a function that waits for its gate, and returns its number."""
        number = len(self.gates)
        self.gates.append(threading.Event())
        self.begun.append(threading.Event())
        return partial(self._run, number, assignor)

    def _run(self, number: int, assignor: object) -> int:
        self.threads.add(threading.get_ident())
        self._now[assignor] += 1
        self.most[assignor] = max(self.most[assignor], self._now[assignor])
        self.begun[number].set()
        assert self.gates[number].wait(10)
        self._now[assignor] -= 1
        return number

    async def has_begun(self, number: int) -> None:
        assert await asyncio.to_thread(self.begun[number].wait, 30)


def leader(
    busy: BusyAssignors,
    elsewhere: Elsewhere = in_thread,
    times: ComputationTimes = TIMES,
    warn: Callable[[str], None] = lambda _text: None,
) -> LeaderComputation:
    return LeaderComputation(elsewhere, SystemClock(), times, warn, busy)


async def threads_have_ended() -> None:
    for each in threading.enumerate():
        if each.name == "kafka-groups-task-assignor":
            await asyncio.to_thread(each.join, 30)


def run(program: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(program(), 30))


def test_it_runs_on_a_thread_that_does_not_keep_the_program_from_ending() -> None:
    async def program() -> None:
        thread = await leader(BusyAssignors()).run("own", ASSIGNOR, threading.current_thread)
        assert thread is not threading.current_thread()
        assert thread.daemon
        assert thread.name == "kafka-groups-task-assignor"

    run(program)


def test_an_error_is_the_callers() -> None:
    def fails() -> None:
        raise ValueError("oh")

    async def program() -> None:
        made = leader(BusyAssignors())
        for _ in range(2):  # also after an error, the assignor is free
            with pytest.raises(ValueError, match="oh"):
                await made.run("own", ASSIGNOR, fails)

    run(program)


def test_the_next_round_waits_until_the_assignor_has_returned_from_the_last_one() -> None:
    async def program() -> None:
        busy, gates = BusyAssignors(), Gates()
        first, second = leader(busy), leader(busy)
        over = asyncio.create_task(first.run("own", ASSIGNOR, gates.function()))
        await gates.has_begun(0)
        over.cancel()  # the generation is over
        waiting = [asyncio.create_task(each.run("own", ASSIGNOR, gates.function())) for each in (first, second)]
        other = asyncio.create_task(first.run("other", OTHER, gates.function(OTHER)))
        await gates.has_begun(3)  # another assignor does not wait
        assert not any(each.is_set() for each in gates.begun[1:3])
        for gate in gates.gates:
            gate.set()
        assert [await each for each in waiting] == [1, 2]
        assert await other == 3
        assert gates.most == {ASSIGNOR: 1, OTHER: 1}

    run(program)


def test_what_is_cancelled_before_it_begins_never_runs() -> None:
    async def program() -> None:
        busy, gates = BusyAssignors(), Gates()
        made = leader(busy, later)
        over = asyncio.create_task(made.run("own", ASSIGNOR, gates.function()))
        await asyncio.sleep(0)
        over.cancel()
        await asyncio.gather(over, return_exceptions=True)
        function = gates.function()
        gates.gates[1].set()
        assert await leader(busy).run("own", ASSIGNOR, function) == 1
        assert not gates.begun[0].is_set()
        assert repr(busy) == "<BusyAssignors: 0 running>"

    run(program)


async def later(function: Callable[[], T]) -> T:
    """Run nothing before the caller is cancelled."""
    await asyncio.Event().wait()
    return function()


def test_members_on_several_loops_share_what_is_busy() -> None:
    gates = Gates()
    functions = [gates.function() for _ in range(4)]
    for gate in gates.gates:
        gate.set()
    results: list[int] = []

    def on_a_loop(function: Callable[[], int]) -> None:
        results.append(asyncio.run(leader(ASSIGNORS).run("own", ASSIGNOR, function)))

    threads = [threading.Thread(target=on_a_loop, args=(each,)) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results) == [0, 1, 2, 3]
    assert gates.most[ASSIGNOR] == 1


Steps = st.lists(st.tuples(st.sampled_from(["start", "over", "return"]), st.integers(0, 7), st.booleans()), max_size=25)


@settings(max_examples=40, deadline=None)
@given(steps=Steps)
def test_an_assignor_never_runs_on_the_loop_or_twice_at_a_time(steps: list[tuple[str, int, bool]]) -> None:
    """Rounds of two leaders begin, are over and return in any order."""

    async def program() -> None:
        busy, gates = BusyAssignors(), Gates()
        leaders = leader(busy), leader(busy)
        rounds: list[asyncio.Task[int]] = []
        for step, number, flag in steps:
            if step == "start":
                assignor = OTHER if number == 0 else ASSIGNOR
                rounds.append(asyncio.create_task(leaders[flag].run("own", assignor, gates.function(assignor))))
            elif rounds and step == "over":
                rounds[number % len(rounds)].cancel()
            elif gates.gates:
                gates.gates[number % len(gates.gates)].set()
            await asyncio.sleep(0.001 if flag else 0)
        for gate in gates.gates:
            gate.set()
        done = await asyncio.gather(*rounds, return_exceptions=True)
        for number, result in enumerate(done):
            assert result == number or isinstance(result, asyncio.CancelledError)
        assert all(count == 1 for count in gates.most.values())
        assert threading.get_ident() not in gates.threads
        await threads_have_ended()
        assert repr(busy) == "<BusyAssignors: 0 running>"

    run(program)


# ------------------------------------------------------------------------------------------ slow assignors

SOON = ComputationTimes(slow_ms=1, limit_ms=40, pause_ms=1)


def test_a_slow_assignor_is_a_warning_with_its_time() -> None:
    async def program() -> None:
        gates, warned = Gates(), list[str]()

        def warn(text: str) -> None:
            warned.append(text)
            gates.gates[0].set()

        made = leader(BusyAssignors(), warn=warn, times=evolve(TIMES, slow_ms=1))
        await made.run("own", ASSIGNOR, gates.function())
        assert re.fullmatch(
            r"The task assignor own has not returned for \d+ ms\. The group waits for it, at most for 150000 ms \(half "
            r"of max\.poll\.interval\.ms\)\.",
            warned[0],
        )
        assert re.fullmatch(r"The task assignor own took \d+ ms\. The group waits for it\.", warned[1])

    run(program)


def test_it_is_given_up_in_time_also_if_sessions_are_long() -> None:
    async def program() -> None:
        gates, warned = Gates(), list[str]()
        made = leader(BusyAssignors(), times=evolve(SOON, slow_ms=10**6), warn=warned.append)
        with pytest.raises(LeadingError, match="has not returned within 40 ms"):
            await made.run("own", ASSIGNOR, gates.function())
        gates.gates[0].set()
        assert not warned

    run(program)


def test_what_is_given_up_does_not_run_again_in_this_process() -> None:
    async def program() -> None:
        busy, gates = BusyAssignors(), Gates()
        first, second = leader(busy, times=SOON), leader(busy, times=SOON)
        late = r"The task assignor own has not returned within 40 ms, which is half of max\.poll\.interval\.ms\."
        with pytest.raises(LeadingError, match=late):
            await first.run("own", ASSIGNOR, gates.function())
        with pytest.raises(KafkaGroupsError, match=r"own has been running in this process for \d+ ms") as refused:
            await second.run("own", ASSIGNOR, gates.function())
        assert not isinstance(refused.value, LeadingError)  # this member may follow another one
        with pytest.raises(LeadingError, match=late):
            await first.run("own", ASSIGNOR, gates.function())
        assert await second.run("other", OTHER, lambda: 7) == 7
        for gate in gates.gates:
            gate.set()
        await threads_have_ended()
        last = gates.function()
        gates.gates[3].set()
        assert await second.run("own", ASSIGNOR, last) == 3
        assert [each.is_set() for each in gates.begun] == [True, False, False, True]

    run(program)


def test_one_that_waits_for_another_member_lets_somebody_else_lead_when_the_time_is_over() -> None:
    async def program() -> None:
        busy, gates = BusyAssignors(), Gates()
        first, second = leader(busy), leader(busy, times=SOON)
        waiting = asyncio.create_task(first.run("own", ASSIGNOR, gates.function()))
        await gates.has_begun(0)
        with pytest.raises(KafkaGroupsError, match="has been running in this process for") as refused:
            await second.run("own", ASSIGNOR, gates.function())
        assert not isinstance(refused.value, LeadingError)
        gates.gates[0].set()
        assert await waiting == 0  # the other member has not given it up
        assert not gates.begun[1].is_set()

    run(program)


def test_the_round_after_one_that_is_over_gives_up_what_that_has_begun() -> None:
    async def program() -> None:
        gates, made = Gates(), leader(BusyAssignors(), times=SOON)
        over = asyncio.create_task(made.run("own", ASSIGNOR, gates.function()))
        await gates.has_begun(0)
        over.cancel()
        with pytest.raises(LeadingError, match="has not returned within 40 ms"):
            await made.run("own", ASSIGNOR, gates.function())
        gates.gates[0].set()
        assert not gates.begun[1].is_set()

    run(program)


def test_a_process_that_stood_still_does_not_give_up_its_assignor() -> None:
    """With SIGSTOP, or in a machine that was paused, the assignor stood still, too."""

    async def program(simulation: Simulation) -> None:
        async def after_two_moments(function: Callable[[], T]) -> T:
            for _ in range(2):
                await asyncio.sleep(0.2)
            return function()

        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        made = LeaderComputation(after_two_moments, simulation.clock, TIMES, lambda _text: None, BusyAssignors())
        computing = asyncio.create_task(made.run("own", ASSIGNOR, lambda: 1))
        await asyncio.sleep(0.1)
        loop.block(2 * TIMES.limit_ms / 1_000)
        assert await computing == 1

    run_simulated(program, 1)


def test_an_assignor_that_takes_too_long_is_given_up_on_time() -> None:
    async def program(simulation: Simulation) -> None:
        async def in_a_year(function: Callable[[], T]) -> T:
            await asyncio.sleep(365 * 86_400)
            return function()

        made = LeaderComputation(in_a_year, simulation.clock, TIMES, lambda _text: None, BusyAssignors())
        begun_ms = simulation.clock.now_ms()
        with pytest.raises(LeadingError, match="has not returned within 150000 ms"):
            await made.run("own", ASSIGNOR, lambda: 1)
        assert simulation.clock.now_ms() - begun_ms == TIMES.limit_ms

    run_simulated(program, 1)
