"""A run of a consumer group: after each step, both sides must have answered alike, and describe the group alike."""

import asyncio
from typing import Any

from attrs import define, field

from kafka_groups.protocol.messages.consumer_group_heartbeat import JOIN_GROUP_EPOCH
from tests.lockstep.answers import fields_of
from tests.lockstep.choosing import TOPICS
from tests.lockstep.consumer_steps import ConsumerHeartbeat, DescribeConsumerGroup
from tests.lockstep.differences import Difference, differences
from tests.lockstep.preparing import prepare_alike
from tests.lockstep.running import Outcome, Source
from tests.lockstep.settling import settle_metadata
from tests.lockstep.side import Sides
from tests.lockstep.steps import CreateTopic, Step, take
from tests.lockstep.topic_ids import next_topic_id

_PATIENCE_S = 4.0
_PAUSE_S = 0.01
_CONFIGS = {"consumer.assignment.interval.ms": "0", "consumer.session.timeout.ms": "60000"}
_OFFLOADS = "consumer.assignor.offload.enable"


@define(eq=False)
class ConsumerRun:
    """One run on two clusters."""

    sides: Sides
    done: list[Step] = field(factory=list)
    _state: str = ""

    async def through(self, source: Source) -> Outcome:
        """Create topics, which have the same ids on both sides, and do what the source says."""
        await prepare_alike(self.sides, TOPICS, _CONFIGS, _OFFLOADS)
        while (step := source.next(self.sides.embedded)) is not None:
            if self._is_undetermined(step):
                continue
            self.done.append(step)
            response, found = await self._take(step)
            if not found:
                await settle_metadata(self.sides, step, response)
                described, found = await self._take(DescribeConsumerGroup())
                self._state = described.groups[0].group_state
            if found:
                return Outcome(tuple(self.done), tuple(found))
            source.answered(step, response)
        return Outcome(tuple(self.done))

    def _is_undetermined(self, step: Step) -> bool:
        """Whether a step is left out, as it is not known what Kafka makes of it.

        A target assignment that is outstanding is computed with the next heartbeat. If a member joins with it, by an
        expression whose topics are not known yet, Kafka takes the subscriptions of the group for equal or for different
        ones, and which of both could not be derived.
        """
        joins = isinstance(step, ConsumerHeartbeat) and step.epoch == JOIN_GROUP_EPOCH and step.regex is not None
        return joins and self._state == "Assigning"

    async def _take(self, step: Step) -> tuple[Any, list[Difference]]:
        """The embedded broker's response, and what differs: of a question, after some time."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            embedded, found = await self._ask(step)
            if not (found and step.is_question) or asyncio.get_running_loop().time() > deadline:
                return embedded, found
            await asyncio.sleep(_PAUSE_S)

    async def _ask(self, step: Step) -> tuple[Any, list[Difference]]:
        real = await take(self.sides.real, step)
        embedded = await self._ask_embedded(step)
        return embedded, differences(fields_of(real, self.sides.real), fields_of(embedded, self.sides.embedded))

    async def _ask_embedded(self, step: Step) -> Any:
        if not isinstance(step, CreateTopic):
            return await take(self.sides.embedded, step)
        with next_topic_id(self.sides.real.topic_id(step.topic)):
            return await take(self.sides.embedded, step)
