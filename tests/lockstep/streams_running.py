"""A run of a streams group: after each step, both sides must have answered alike, and describe the group alike."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.protocol.messages.streams_group_heartbeat import LEAVE_GROUP_EPOCH, StreamsStatus
from tests.lockstep.differences import Allowed, Difference
from tests.lockstep.preparing import prepare_alike
from tests.lockstep.running import Outcome, Source, Taken, asked_patiently, compared, run_through
from tests.lockstep.settling import in_force, settle_metadata
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import Step, take
from tests.lockstep.streams_differences import (
    CACHED_TARGET,
    FAILED_HEARTBEAT,
    allowed_by,
    is_left_out,
    without_ignored,
)
from tests.lockstep.streams_steps import DescribeStreamsGroup, StreamsHeartbeat
from tests.lockstep.streams_timeouts import Silence, timed_out
from tests.lockstep.told_targets import next_target
from tests.lockstep.topic_ids import topic_id_of
from tests.support.conditions import until

TOPICS: Mapping[str, int] = MappingProxyType({"t": 2, "u": 2})
_PATIENCE_S = 2.0
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
    _described: Any = None
    _epoch: int = 0
    _epoch_of_copy: int = -1
    _has_failed: bool = False

    async def through(self, source: Source) -> Outcome:
        """Create topics, which have the same ids on both sides, and do what the source says."""
        await prepare_alike(self.sides, TOPICS, _CONFIGS, _OFFLOADS)
        await asyncio.gather(*(in_force(side) for side in self.sides))
        return await run_through(source, self.sides.embedded, self)

    def is_left_out(self, step: Step) -> bool:
        """Whether a step is left out, as no client takes it."""
        return is_left_out(step, self.sides.embedded, self._described)

    async def take(self, step: Step) -> Taken:
        """Take a step, and look at the group unless something differs that may not."""
        if isinstance(step, Silence):
            await timed_out(self.sides.real, step.of)
        response, found = await self._take(step)
        if self.allowed(found) is None:
            return response, found
        await settle_metadata(self.sides, step, response)
        described, more = await self._take(DescribeStreamsGroup())
        if self.allowed(more) is not None:
            self._described = described.groups[0]
            self._epoch = self._described.assignment_epoch
            if _misses_internal_topics(response):
                await self._internal_topics_created(self._described)
        return response, [*found, *more]

    def allowed(self, found: Sequence[Difference]) -> list[Allowed] | None:
        """The entries that allow what differs, some of them only because of what happened before."""
        has_copy = self._epoch == self._epoch_of_copy
        aftermath = (CACHED_TARGET,) * has_copy + (FAILED_HEARTBEAT,) * self._has_failed
        return allowed_by(self.done, found, aftermath)

    async def _take(self, step: Step) -> Taken:
        return await asked_patiently(
            step, partial(self._ask, step), lambda found: self.allowed(found) is not None, _PATIENCE_S
        )

    async def _ask(self, step: Step) -> Taken:
        real = _of_this_run(await take(self.sides.real, step), self.sides.real)
        embedded = _of_this_run(await self._ask_embedded(step), self.sides.embedded)
        if isinstance(step, StreamsHeartbeat):
            self._note_aftermath(step, real.error_code, embedded.error_code)
        return embedded, without_ignored(compared(self.sides, real, embedded))

    def _note_aftermath(self, step: StreamsHeartbeat, real: ErrorCode, embedded: ErrorCode) -> None:
        if real in _MOVES_COPY or step.epoch == LEAVE_GROUP_EPOCH:
            self._epoch_of_copy = self._epoch
        self._has_failed |= real is embedded is ErrorCode.UNKNOWN_SERVER_ERROR

    async def _ask_embedded(self, step: Step) -> Any:
        described = await self._described_by_kafka() if isinstance(step, StreamsHeartbeat) else None
        with topic_id_of(step, self.sides.real), next_target(described) if described else nullcontext():
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
