"""A run of a streams group: after each step, both sides must have answered alike, and describe the group alike."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.protocol.messages.streams_group_heartbeat import LEAVE_GROUP_EPOCH, StreamsStatus
from tests.lockstep.answers import fields_of
from tests.lockstep.differences import Allowed, Difference, differences
from tests.lockstep.preparing import prepare_alike
from tests.lockstep.running import Outcome, Source
from tests.lockstep.settling import in_force, settle_metadata
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import CreateTopic, Step, take
from tests.lockstep.streams_differences import (
    CACHED_TARGET,
    FAILED_HEARTBEAT,
    allowed_by,
    compared,
    is_left_out,
)
from tests.lockstep.streams_steps import DescribeStreamsGroup, StreamsHeartbeat
from tests.lockstep.streams_timeouts import Silence, timed_out
from tests.lockstep.told_targets import next_target
from tests.lockstep.topic_ids import next_topic_id
from tests.support.conditions import until

TOPICS: Mapping[str, int] = MappingProxyType({"t": 2, "u": 2})
_PATIENCE_S = 2.0
_PAUSE_S = 0.01
_MORE_REPLICAS_THAN_BROKERS = 2
_OBSERVER = "observer"
_MOVES_COPY = (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID)
_CONFIGS = {
    "streams.assignment.interval.ms": "0",
    "streams.initial.rebalance.delay.ms": "0",
    "streams.session.timeout.ms": "60000",
}
_OFFLOADS = "streams.assignor.offload.enable"


@define(eq=False)
class StreamsRun:
    """One run on two clusters."""

    sides: Sides
    done: list[Step] = field(factory=list)
    allowed: list[str] = field(factory=list)
    _described: Any = None
    _epoch: int = 0
    _epoch_of_copy: int = -1
    _has_failed: bool = False

    async def through(self, source: Source) -> Outcome:
        """Create topics, which have the same ids on both sides, and do what the source says."""
        await prepare_alike(self.sides, TOPICS, _CONFIGS, _OFFLOADS)
        await asyncio.gather(*(in_force(side) for side in self.sides))
        while (step := source.next(self.sides.embedded)) is not None:
            if is_left_out(step, self.sides.embedded, self._described):
                continue
            self.done.append(step)
            response, found = await self._take_and_look(step)
            entries = self._allowed(found)
            if entries is None:
                return Outcome(tuple(self.done), tuple(found), tuple(self.allowed))
            self.allowed.extend(entry.name for entry in entries)
            if any(entry.parts_ways for entry in entries):
                break
            source.answered(step, response)
        return Outcome(tuple(self.done), (), tuple(self.allowed))

    async def _take_and_look(self, step: Step) -> tuple[Any, list[Difference]]:
        """The embedded broker's response to a step, and what differs there or in the group afterwards."""
        if isinstance(step, Silence):
            await timed_out(self.sides.real, step.of)
        response, found = await self._take(step)
        if self._allowed(found) is None:
            return response, found
        await settle_metadata(self.sides, step, response)
        described, more = await self._take(DescribeStreamsGroup())
        if self._allowed(more) is not None:
            self._described = described.groups[0]
            self._epoch = self._described.assignment_epoch
            if _misses_internal_topics(response):
                await self._internal_topics_created(self._described)
        return response, [*found, *more]

    def _allowed(self, found: list[Difference]) -> list[Allowed] | None:
        has_copy = self._epoch == self._epoch_of_copy
        aftermath = (CACHED_TARGET,) * has_copy + (FAILED_HEARTBEAT,) * self._has_failed
        return allowed_by(self.done, found, aftermath)

    async def _take(self, step: Step) -> tuple[Any, list[Difference]]:
        """The embedded broker's response, and what differs: of a question, after some time."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            embedded, found = await self._ask(step)
            if self._allowed(found) is not None or not step.is_question or asyncio.get_running_loop().time() > deadline:
                return embedded, found
            await asyncio.sleep(_PAUSE_S)

    async def _ask(self, step: Step) -> tuple[Any, list[Difference]]:
        real = _of_this_run(await take(self.sides.real, step), self.sides.real)
        embedded = _of_this_run(await self._ask_embedded(step), self.sides.embedded)
        found = differences(fields_of(real, self.sides.real), fields_of(embedded, self.sides.embedded))
        if isinstance(step, StreamsHeartbeat):
            self._note_aftermath(step, real.error_code, embedded.error_code)
        return embedded, compared(found)

    def _note_aftermath(self, step: StreamsHeartbeat, real: ErrorCode, embedded: ErrorCode) -> None:
        if real in _MOVES_COPY or step.epoch == LEAVE_GROUP_EPOCH:
            self._epoch_of_copy = self._epoch
        self._has_failed |= real is embedded is ErrorCode.UNKNOWN_SERVER_ERROR

    async def _ask_embedded(self, step: Step) -> Any:
        new_topic = next_topic_id(self.sides.real.topic_id(step.topic)) if isinstance(step, CreateTopic) else None
        described = await self._described_by_kafka() if isinstance(step, StreamsHeartbeat) else None
        with new_topic or nullcontext(), next_target(described) if described else nullcontext():
            return await take(self.sides.embedded, step)

    async def _described_by_kafka(self) -> Any:
        """The group as Kafka has it, with the target assignment that it may have just computed."""
        request = DescribeStreamsGroup().request(self.sides.real)
        return (await self.sides.real.client(_OBSERVER).ask(request)).groups[0]

    async def _internal_topics_created(self, described: Any) -> None:
        """Wait until both brokers have created the internal topics that a heartbeat has missed, and know that."""
        for name in _internal_topics_of(described):
            for side in self.sides:
                await _created(side, name)
        await asyncio.gather(*(in_force(side) for side in self.sides))


async def _created(side: Side, full_name: str) -> None:
    topic = await until(
        lambda: side.cluster.describe_topic(full_name),
        lambda it: it.error_code is ErrorCode.NONE and all(p.leader_id >= 0 for p in it.partitions),
    )
    if topic.topic_id is not None and topic.topic_id not in side.names_of_ids:
        side.created(full_name.removesuffix(f"-{side.suffix}"), topic.topic_id)


def _misses_internal_topics(response: Any) -> bool:
    statuses = getattr(response, "status", None) or ()
    return any(each.status_code == StreamsStatus.MISSING_INTERNAL_TOPICS for each in statuses)


def _internal_topics_of(described: Any) -> Iterator[str]:
    """Names of the internal topics that can be created."""
    for each in described.topology.subtopologies:
        for info in (*each.state_changelog_topics, *each.repartition_source_topics):
            if info.replication_factor < _MORE_REPLICAS_THAN_BROKERS:
                yield info.name


def _of_this_run(response: Any, side: Side) -> Any:
    """A list of groups without those of other runs."""
    if not isinstance(response, ListGroupsResponse):
        return response
    own = tuple(each for each in response.groups if each.group_id.endswith(side.suffix))
    return evolve(response, groups=own)
