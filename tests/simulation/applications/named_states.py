"""What the leader of a classic group hears of the state of tasks: the workers of a process name each state once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from kafka_groups.testing.simulation.checks.ledger import SentRequest
from kafka_groups.types import TaskId

__all__ = ["NamedStates"]


@define
class NamedStates:
    """Follows the rounds as their leaders see them.

    Args:
        subtopologies: The sub-topologies by the topics that they read.

    Attributes:
        violations: The states that two workers of one process named in one round. A worker that owns a task does not
            count: it may have opened the state after another one had named it.
        named: How often a worker named a state that it does not own.
    """

    subtopologies: Mapping[str, str]
    violations: list[str] = field(factory=list)
    named: int = 0

    def asked(self, sent: SentRequest) -> None:
        """Look at nothing."""

    def answered(self, _sent: SentRequest, response: Any) -> None:
        """Look at the members of a round, if its leader is answered."""
        named = Counter(each for member in response.members for each in self._named(member.metadata))
        self.named += named.total()
        self.violations += [
            f"{count} workers of process {process} named task {task} in generation {response.generation_id}"
            for (process, task), count in named.items()
            if count > 1
        ]

    def _named(self, metadata: bytes) -> Iterator[tuple[str, TaskId]]:
        subscription = ConsumerProtocolSubscription.decode(metadata)
        info = decode_subscription(subscription.user_data)
        assert isinstance(info, SubscriptionInfo)
        partitions = subscription.owned_partitions.items()
        owned = {TaskId(self.subtopologies[topic], number) for topic, numbers in partitions for number in numbers}
        return ((str(info.process_id), task) for task, _sum in info.task_offset_sums if task not in owned)
