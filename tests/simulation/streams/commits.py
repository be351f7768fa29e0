"""What a simulated member of a streams group commits: the offsets of its active tasks, now and then too late."""

import random

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
)
from kafka_groups.streams.member.coordinated.membership import StreamsMembership
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordinator_link import CoordinatorLink
from tests.simulation.groups.offset_requests import committed_topic, error_of_commit
from tests.simulation.streams.topics import GROUP, Tasks, partition_of

__all__ = ["Commits"]

_BY_NAME, _BY_ID = 9, 10
_STALE = (
    ErrorCode.NONE,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


@define(eq=False)
class Commits:
    """What one member commits.

    Attributes:
        world: Where it lives.
        rng: Its randomness.
        membership: The member.
    """

    world: SimulatedWorld
    rng: random.Random
    membership: StreamsMembership
    _version: int = _BY_NAME
    _count: int = 0
    _former: list[tuple[int, Tasks]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._version = self.rng.choice((_BY_NAME, _BY_ID))

    def remember(self) -> None:
        """Note what the member owns in its present epoch, before that changes."""
        owned = self.membership.owned.active
        if self.membership.epoch > 0 and owned:
            self._former.append((self.membership.epoch, owned))

    def former_epoch(self) -> int | None:
        """An epoch that the member had before the present one."""
        epochs = [epoch for epoch, _ in self._former if epoch < self.membership.epoch]
        return self.rng.choice(epochs) if epochs else None

    async def send(self, link: CoordinatorLink, tasks: Tasks) -> bool:
        """Commit after some progress, and return whether the coordinator could not be asked."""
        return await self._send(link, self.membership.epoch, tasks)

    async def send_late(self, link: CoordinatorLink) -> None:
        """Commit with a former epoch what was owned then, as a request does that was on its way for long."""
        if self._former:
            self.world.struck["late_commit"] += 1
            await self._send(link, *self.rng.choice(self._former))

    async def _send(self, link: CoordinatorLink, epoch: int, tasks: Tasks) -> bool:
        if not tasks or epoch <= 0:
            return False
        self._count += 1
        mark = f"{self.membership.member_id} {self._count}"
        try:
            response = await link.ask(self._request(epoch, tasks, mark), self._version)
        except KafkaGroupsError as error:
            self.world.note("commit met", type(error).__name__)
            return True
        return error_of_commit(response) not in _STALE

    def _request(self, epoch: int, tasks: Tasks, mark: str) -> OffsetCommitRequest:
        places = [partition_of(task) for task in sorted(tasks)]
        topics = (self._topic(name, [n for each, n in places if each == name], mark) for name in dict(places))
        return OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=epoch,
            member_id=self.membership.member_id,
            group_instance_id=self.membership.description.instance_id,
            topics=tuple(each for each in topics if each is not None),
        )

    def _topic(self, name: str, numbers: list[int], mark: str) -> OffsetCommitRequestTopic | None:
        topic = self.world.cluster.metadata.topic(name)
        if topic is None:
            return None
        return committed_topic(name, topic.topic_id, {number: self.rng.randrange(1000) for number in numbers}, mark)
