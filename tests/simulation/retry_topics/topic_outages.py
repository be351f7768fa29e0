"""Outages of the topics that workers write to: brokers refuse their records, or do not say that they have them."""

from attrs import define, field

from kafka_groups.broker.faults import DROP_CONNECTION, LOSE_RESPONSE, answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.workers.dead_letter_topic import too_few_replicas

__all__ = ["TopicOutages"]

_DROPPED, _UNCONFIRMED = 0.02, 0.01


@define(eq=False)
class TopicOutages:
    """Until when each topic takes nothing, in ms.

    Attributes:
        world: Where the topics are.
        until_ms: The times.
        log: Topic, begin and end of each outage.
    """

    world: SimulatedWorld
    until_ms: dict[str, int] = field(factory=dict)
    log: list[tuple[str, int, int]] = field(factory=list)

    def begin(self) -> None:
        """Have brokers refuse writes from now on, as the times say, and break connections at times."""
        faults = self.world.cluster.faults
        faults.on(ApiKey.PRODUCE, answer(too_few_replicas), when=self._is_down)
        faults.on(ApiKey.PRODUCE, DROP_CONNECTION, when=lambda _: self.world.strikes("write dropped", _DROPPED))
        faults.on(ApiKey.PRODUCE, LOSE_RESPONSE, when=lambda _: self.world.strikes("not confirmed", _UNCONFIRMED))

    def strike(self, topic: str, down_ms: int) -> None:
        """Let a topic take nothing for a while."""
        now_ms = self.world.clock.now_ms()
        self.until_ms[topic] = now_ms + down_ms
        self.log.append((topic, now_ms, now_ms + down_ms))

    def was_down(self, topic: str, begin_ms: int, end_ms: int) -> bool:
        """Return whether a topic took nothing at some time between these."""
        return any(name == topic and begin <= end_ms and begin_ms <= end for name, begin, end in self.log)

    def _is_down(self, request: object) -> bool:
        now_ms, names = self.world.clock.now_ms(), self._names()
        topics = getattr(request, "topic_data", ())
        return any(self.until_ms.get(topic.name or names.get(topic.topic_id, ""), 0) > now_ms for topic in topics)

    def _names(self) -> dict[object, str]:
        metadata = self.world.cluster.metadata
        return {known.topic_id: name for name in self.until_ms if (known := metadata.topic(name)) is not None}
