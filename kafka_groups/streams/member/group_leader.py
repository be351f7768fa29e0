"""Leads a classic group while its member is the leader: asks the brokers, computes, and watches the topics."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LeadingError, LedRound
from kafka_groups.admin.rules.streams_leader.internal_topics import existing_topics
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.admin.rules.streams_leader.watched_topics import WatchedTopics, read_topics
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.requests import Lane
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import named, text_of
from kafka_groups.net.clock import Clock
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.classic.leading import LedGeneration
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.leader_computation import (
    BusyAssignors,
    ComputationTimes,
    Elsewhere,
    LeaderComputation,
)
from kafka_groups.streams.member.leader_log import LeaderLog

__all__ = ["GroupLeader", "LeaderParts", "LeadingTimes"]

_log = logging.getLogger(__name__)

_SETTLING_S: Final = 1.0
"""The time after which a change of racks is looked at again before it counts."""


@frozen(kw_only=True)
class LeadingTimes:
    """The times of a leader, in milliseconds.

    Attributes:
        round_ms: How long the questions of a round may take, and the task assignor (half of `max.poll.interval.ms`).
        offsets_ms: How long those about offsets may take (`default.api.timeout.ms`).
        watch_ms: The time between two looks at the topics (`metadata.max.age.ms`).
        give_up_ms: How long the member tries again to lead after failures (`task.timeout.ms`).
        slow_ms: The time after which a warning tells that the task assignor is slow (half of `session.timeout.ms`).
        pause_ms: How long to wait before another member leads (`retry.backoff.max.ms`).
    """

    round_ms: int
    offsets_ms: int
    watch_ms: int
    give_up_ms: int
    slow_ms: int
    pause_ms: int


@frozen(kw_only=True)
class LeaderParts:
    """The parts of a leader that come from its client.

    Attributes:
        within: Returns a function that asks questions for at most so many milliseconds, on a lane.
        elsewhere: Runs computations that may take seconds.
        busy: The assignors that run in the process.
        clock: Time.
        errors: Receives warnings.
        turn: Lets the engine look at its managers.
        sources: The patterns of the topology; None without any.
    """

    within: Callable[[int, Lane], Asking]
    elsewhere: Elsewhere
    busy: BusyAssignors
    clock: Clock
    errors: BackgroundErrors
    turn: Callable[[], None]
    sources: PatternSources | None = None


class GroupLeader:
    """The task of the leader, which runs beside the member's heartbeats.

    Args:
        membership: The membership.
        settings: The configuration of the application that its leader needs.
        times: How long it tries.
        parts: What it has from its client.
    """

    def __init__(
        self, membership: ClassicMembership, settings: LeaderSettings, times: LeadingTimes, parts: LeaderParts
    ) -> None:
        self._membership = membership
        self._settings = settings
        self._times = times
        self._parts = parts
        self._led: LedGeneration | None = None
        self._task: asyncio.Task[None] | None = None
        self._failing_since_ms: int | None = None
        self._log = LeaderLog(parts.errors.events, membership.description.group_id)
        self._computation = LeaderComputation(
            parts.elsewhere,
            parts.clock,
            ComputationTimes(slow_ms=times.slow_ms, limit_ms=times.round_ms, pause_ms=times.pause_ms),
            self._log.slow,
            parts.busy,
        )
        self._postponed = 0
        self._last_led: int | None = None

    def __repr__(self) -> str:
        return f"<GroupLeader of {self._led}>"

    def look(self) -> None:
        """Begin to lead a generation, or stop leading one that is over."""
        if self._membership.to_lead is self._led:
            return
        self._led = self._membership.to_lead
        if self._task is not None:
            self._task.cancel()
        self._task = None if self._led is None else asyncio.create_task(self._lead(self._led))

    async def stop(self) -> None:
        """Stop leading, and wait until the task has ended."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _lead(self, led: LedGeneration) -> None:
        self._begins(led.generation)
        # A static leader that was restarted has nothing to assign (KIP-814).
        watched: WatchedTopics | None = None
        if not led.skip_assignment:
            try:
                watched = await self._assign(led)
            except Exception as error:  # of a broker, or of whatever computes
                self._failed(led, error)
                return
            self._failing_since_ms = None
        await self._watch(watched)

    async def _assign(self, led: LedGeneration) -> WatchedTopics:
        # CreateTopics may wait in the broker for long, which must not hold up heartbeats. In the lane of the group,
        # nothing waits meanwhile.
        begun_ms = self._parts.clock.now_ms()
        ask, ask_for_offsets = (
            self._parts.within(time_ms, Lane.GROUP) for time_ms in (self._times.round_ms, self._times.offsets_ms)
        )
        asked = await ask_for_round(ask, ask_for_offsets, self._round_of(led))
        done = await self._computed(asked)
        self._log.led(done)
        self._postponed = self._postponed + 1 if done.is_postponed else 0
        now_ms = self._parts.clock.now_ms()
        self._membership.round_sensors.led.add(now_ms - begun_ms, now_ms)
        self._membership.learn_topics(done.watched.counts)
        self._hand_over(led, done, now_ms)
        self._parts.turn()
        return done.watched

    async def _computed(self, asked: AskedRound) -> LedRound:
        wall_ms = self._parts.clock.wall_ms()
        if asked.error is not None:  # no assignor runs
            return led_round(asked, wall_ms)
        assignor = asked.assignor
        return await self._computation.run(str(assignor), assignor.assignor, lambda: led_round(asked, wall_ms))

    def _hand_over(self, led: LedGeneration, done: LedRound, now_ms: int) -> None:
        why = "" if done.error is None else text_of(done.error.cause)
        if self._membership.assign(led, done.assignments, why) and done.follow_up_ms is not None:
            # The time is one of the wall clock, and the member waits by the other one.
            ahead_ms = max(0, done.follow_up_ms - self._parts.clock.wall_ms())
            self._membership.request_round("its task assignor asks for another round", now_ms + ahead_ms)

    def _begins(self, generation: int) -> None:
        # If another member has led meanwhile, or another generation has passed, the count begins anew.
        if self._last_led is None or generation != self._last_led + 1:
            self._postponed = 0
            self._log.leads(generation, self._membership.member_id, self._settings.assignor_name)
        self._last_led = generation

    def _round_of(self, led: LedGeneration) -> GroupRound:
        return GroupRound(
            generation=led.generation,
            member_id=self._membership.member_id,
            members={each.member_id: each.metadata for each in led.members},
            instance_ids={
                each.member_id: each.group_instance_id for each in led.members if each.group_instance_id is not None
            },
            topology=self._membership.description.topology,
            sources=self._parts.sources,
            settings=self._settings,
            postponed=self._postponed,
        )

    def _failed(self, led: LedGeneration, error: Exception) -> None:
        """Let another member lead. What does not pass, or lasts for long, ends this one."""
        now_ms = self._parts.clock.now_ms()
        if self._failing_since_ms is None:
            self._failing_since_ms = now_ms
        is_passing = isinstance(error, KafkaGroupsError) and not isinstance(error, LeadingError)
        is_final = not is_passing or now_ms - self._failing_since_ms >= self._times.give_up_ms
        told = StreamsError(text_of(error) if isinstance(error, KafkaGroupsError) else named(error))
        # What an assignor has raised is the cause for the application, too.
        told.__cause__ = error.__cause__ if isinstance(error, LeadingError) and error.__cause__ else error
        self._membership.could_not_lead(led, told, now_ms, is_final=is_final)
        self._parts.turn()

    async def _watch(self, watched: WatchedTopics | None) -> None:
        """Join again when the topics are not what they were, or not what was assigned."""
        before: Mapping[str, TopicReplicas] | None = None
        while True:
            now = await self._topics(watched)
            if watched is None and now is not None:
                watched = WatchedTopics.as_they_are(now, uses_racks=self._settings.uses_racks)
            changes = None if watched is None or now is None else watched.changes(now)
            # A partition that moves has its old replicas and the new ones for a while. One round for both is enough.
            if changes and (changes.counts or now == before):
                self._membership.request_round(changes.reason)
                self._parts.turn()
                return
            before = now
            await asyncio.sleep(_SETTLING_S if changes else self._times.watch_ms / 1000)

    async def _topics(self, watched: WatchedTopics | None) -> Mapping[str, TopicReplicas] | None:
        ask = self._parts.within(self._times.watch_ms, Lane.CONTROL)
        topics = read_topics(self._membership.description.topology) if watched is None else sorted(watched.topics)
        try:
            return await existing_topics(ask, topics)
        except KafkaGroupsError as error:
            _log.debug("The leader does not know the partitions of the topics now: %s", error)
            return None
