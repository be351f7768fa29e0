"""Time the operations of a handler's clients: fetches, acknowledgements and dead letters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from attrs import frozen

from kafka_groups.telemetry.operations import ClientOperations, MeasuresOperations, error_type
from kafka_groups.types import TopicIdPartition

__all__ = ["OperationTimes"]


@frozen
class OperationTimes:
    """The operations of the clients of one handler.

    Attributes:
        group_id: The share group.
        timer: Returns seconds.
        meters: Take the durations; without any, nothing is measured.
    """

    group_id: str
    timer: Callable[[], float]
    meters: Sequence[ClientOperations] = ()

    @classmethod
    def of(cls, group_id: str, timer: Callable[[], float], middleware: Iterable[object]) -> Self:
        """Return the operations, which go to each middleware that measures them."""
        return cls(group_id, timer, [each.meters for each in middleware if isinstance(each, MeasuresOperations)])

    def received(self, begun_s: float, partitions: Iterable[TopicIdPartition]) -> None:
        """Note a poll that brought records of these partitions."""
        if self.meters:
            self._consumed("receive", begun_s, dict.fromkeys(partitions))

    def settled(self, begun_s: float, results: Mapping[TopicIdPartition, Exception | None]) -> None:
        """Note an acknowledgement that the brokers have answered."""
        if self.meters:
            self._consumed("settle", begun_s, results)

    def _consumed(self, kind: str, begun_s: float, results: Mapping[TopicIdPartition, Exception | None]) -> None:
        """Note an operation of the consumer, once for each topic."""
        errors: dict[str, Exception | None] = {}
        for partition, error in results.items():
            topic = partition.topic or str(partition.topic_id)
            errors[topic] = errors.get(topic) or error
        seconds = self.timer() - begun_s
        for meters in self.meters:
            for topic, error in errors.items():
                meters.operation(kind, seconds, topic=topic, group=self.group_id, error_type=_class_of(error))

    def sent(self, begun_s: float, topic: str, count: int, error: Exception | None) -> None:
        """Note that dead letters were written, or were not."""
        for meters in self.meters:
            meters.operation("send", self.timer() - begun_s, topic=topic, error_type=_class_of(error))
            meters.sent(count, topic=topic, error_type=_class_of(error))


def _class_of(error: Exception | None) -> str | None:
    return None if error is None else error_type(error)
