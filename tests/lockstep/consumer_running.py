"""A run of a consumer group: after each step, both sides must have answered alike, and describe the group alike."""

from collections.abc import Sequence
from functools import partial
from operator import not_

from attrs import define, field

from kafka_groups.protocol.messages.consumer_group_heartbeat import JOIN_GROUP_EPOCH
from tests.lockstep.choosing import TOPICS
from tests.lockstep.consumer_steps import ConsumerHeartbeat, DescribeConsumerGroup
from tests.lockstep.differences import Allowed, Difference
from tests.lockstep.preparing import prepare_alike
from tests.lockstep.running import Outcome, Source, Taken, asked_patiently, compared, run_through
from tests.lockstep.settling import settle_metadata
from tests.lockstep.side import Sides
from tests.lockstep.steps import Step, take
from tests.lockstep.topic_ids import topic_id_of

_PATIENCE_S = 4.0
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
        return await run_through(source, self.sides.embedded, self)

    def is_left_out(self, step: Step) -> bool:
        """Whether a step is left out, as it is not known what Kafka makes of it.

        A target assignment that is outstanding is computed with the next heartbeat. If a member joins with it, by an
        expression whose topics are not known yet, Kafka takes the subscriptions of the group for equal or for different
        ones, and which of both could not be derived.
        """
        joins = isinstance(step, ConsumerHeartbeat) and step.epoch == JOIN_GROUP_EPOCH and step.regex is not None
        return joins and self._state == "Assigning"

    async def take(self, step: Step) -> Taken:
        """Take a step, and look at the group if both sides answer alike."""
        response, found = await self._take(step)
        if not found:
            await settle_metadata(self.sides, step, response)
            described, found = await self._take(DescribeConsumerGroup())
            self._state = described.groups[0].group_state
        return response, found

    def allowed(self, found: Sequence[Difference]) -> list[Allowed] | None:
        """Nothing may differ."""
        return None if found else []

    async def _take(self, step: Step) -> Taken:
        return await asked_patiently(step, partial(self._ask, step), not_, _PATIENCE_S)

    async def _ask(self, step: Step) -> Taken:
        real = await take(self.sides.real, step)
        with topic_id_of(step, self.sides.real):
            embedded = await take(self.sides.embedded, step)
        return embedded, compared(self.sides, real, embedded)
