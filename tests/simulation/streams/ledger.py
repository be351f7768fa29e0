"""The rules of streams groups for what is seen on the wire."""

from collections.abc import Iterator
from typing import Any

from attrs import define, field

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.types import TaskId
from tests.simulation.groups.epochs.ledger import EpochLedger
from tests.simulation.groups.epochs.seen_member import SeenMember
from tests.simulation.streams.holdings import TaskHolding, TaskRoles
from tests.simulation.streams.topics import subtopology_of

__all__ = ["StreamsLedger", "streams_ledger"]

StreamsLedger = EpochLedger[TaskHolding, TaskRoles]
_Member = SeenMember[TaskHolding]


def streams_ledger(world: SimulatedWorld) -> StreamsLedger:
    """The ledger of a streams group."""
    return EpochLedger(world, _StreamsRules())


@define(eq=False)
class _StreamsRules:
    """An active task has one owner at a time, and a process has one copy of a task's state."""

    heartbeat: ApiKey = ApiKey.STREAMS_GROUP_HEARTBEAT
    most_unanswered: int = 1
    """A member that lists no tasks must know the current epoch."""
    _owners: dict[tuple[TaskId, int], _Member] = field(factory=dict)

    def new_holding(self) -> TaskHolding:
        """No tasks."""
        return TaskHolding()

    def shown(self, owned: TaskRoles) -> str:
        """Tasks by role."""
        roles = (("active", owned.active), ("standby", owned.standby))
        return "; ".join(f"{role} {', '.join(map(str, sorted(each)))}" for role, each in roles if each)

    def conflict(self, new: TaskRoles, held: TaskRoles) -> TaskRoles:
        """Tasks that are active in two members."""
        return TaskRoles(new.active & held.active)

    def committed(self, topic: str, partition: int) -> TaskId:
        """The task that reads the partition."""
        return TaskId(subtopology_of(topic), partition)

    def wrongly_accepted(self, member: _Member, request: Any) -> Iterator[str]:
        """Yields that a member stays with an older epoch, though it does not say which tasks it owns."""
        if request.active_tasks is None and request.member_epoch < member.epoch:
            yield f"{member.member_id} stayed in epoch {request.member_epoch} after {member.epoch}"

    def wrongly_given(self, member: _Member, new: TaskRoles, others: list[_Member]) -> Iterator[str]:
        """Yields what a process has twice, and tasks that have two owners in one epoch."""
        yield from self._copies_in_one_process(member, new, others)
        yield from self._second_owners_in_an_epoch(member, new)

    def _copies_in_one_process(self, member: _Member, new: TaskRoles, others: list[_Member]) -> Iterator[str]:
        told = member.holding.told
        if both := told.active & told.standby:
            yield f"{member.member_id} has both roles of {self.shown(TaskRoles(both))}"
        for other in others:
            held = other.holding.held
            copies = (new.active & held.standby) | (new.standby & (held.active | held.standby))
            if copies and other.holding.process == member.holding.process:
                yield (
                    f"{member.member_id} got {self.shown(new)}, and {other.member_id} of its process has "
                    f"{self.shown(held)}"
                )

    def _second_owners_in_an_epoch(self, member: _Member, new: TaskRoles) -> Iterator[str]:
        """Yields that an epoch does not tell two owners of a task apart, unless they are lives of a static member."""
        for task in sorted(new.active):
            first = self._owners.setdefault((task, member.epoch), member)
            if first is not member and (member.instance is None or first.instance != member.instance):
                yield f"{member.member_id} got {task} in epoch {member.epoch}, as {first.member_id} did"
