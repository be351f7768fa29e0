"""What a client remembers of its membership in a consumer group, and what its heartbeats say, as in Java clients."""

import random
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from tests.simulation.groups.timing import REBALANCE_S

__all__ = ["GROUP", "NOTHING", "Membership", "Partitions", "Place", "Seat", "Subscription", "places_in"]

GROUP = "readers"
Place = tuple[UUID, int]
"""A partition: the id of its topic, and its number."""
Partitions = frozenset[Place]
NOTHING: Partitions = frozenset()


@frozen
class Subscription:
    """What a member subscribes to, and the assignor that it prefers.

    Attributes:
        names: The topics' names.
        regex: A regular expression that matches these names and nothing else. None: it subscribes by name.
        assignor: Its assignor, if it prefers one.
    """

    names: tuple[str, ...]
    regex: str | None = None
    assignor: str | None = None


@frozen
class Seat:
    """A process in the deployment, whoever runs it now.

    Attributes:
        name: Its name.
        instance: Its instance id. None: its members are dynamic.
        subscription: What its members want. None: each wants something else.
    """

    name: str
    instance: str | None
    subscription: Subscription | None = None


@define(eq=False)
class Membership:
    """What a client knows of its membership.

    Attributes:
        member_id: The id that it has chosen, for as long as it lives.
        instance: Its instance id, if it is static.
        subscription: What it wants.
        epoch: Its member epoch; 0 if it is not a member.
        owned: What it consumes.
        assigned: What it was last told that it may own.
        former: Epochs that it had, with what it owned then.
    """

    member_id: str
    instance: str | None
    subscription: Subscription
    epoch: int = JOIN_GROUP_EPOCH
    owned: Partitions = NOTHING
    assigned: Partitions = NOTHING
    former: list[tuple[int, Partitions]] = field(factory=list)
    _said: tuple[Subscription, Partitions] | None = None
    _knows_regex: bool = False

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat. It says everything after an error, and otherwise what has changed."""
        said, wants = self._said, self.subscription
        self._said = (wants, self.owned)
        self._knows_regex = self._knows_regex or wants.regex is not None
        has_news = said is None or said[0] != wants
        return ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance,
            rebalance_timeout_ms=REBALANCE_S * 1000 if said is None else -1,
            subscribed_topic_names=(() if wants.regex else wants.names) if has_news else None,
            subscribed_topic_regex=(wants.regex or "") if has_news and self._knows_regex else None,
            server_assignor=wants.assignor if has_news else None,
            topic_partitions=_listed(self.owned) if said is None or said[1] != self.owned else None,
        )

    def leaving(self) -> ConsumerGroupHeartbeatRequest:
        """The last heartbeat: for good, or for a while if the member is static."""
        epoch = LEAVE_GROUP_EPOCH if self.instance is None else LEAVE_STATIC_EPOCH
        return ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance
        )

    def answered(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Take a response that is no error."""
        if response.member_epoch != self.epoch:
            self._remember()
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.assigned = places_in(response.assignment.topic_partitions)

    def failed(self) -> None:
        """It is not known whether the coordinator has taken the last heartbeat."""
        self._said = None

    def own(self, partitions: Partitions) -> None:
        """Own less, or more of what is assigned."""
        assert partitions <= self.owned | self.assigned
        if not self.owned <= partitions:
            self._remember()
        self.owned = partitions

    def give_up(self) -> None:
        """It is no member any more, and owns nothing."""
        self._remember()
        self.epoch, self.owned, self.assigned, self._said = JOIN_GROUP_EPOCH, NOTHING, NOTHING, None

    def earlier(self, rng: random.Random) -> tuple[int, Partitions] | None:
        """One of its former epochs, with what it owned then."""
        return rng.choice(self.former) if self.former else None

    def _remember(self) -> None:
        if self.epoch > 0 and self.owned:
            self.former.append((self.epoch, self.owned))


def places_in(topics: tuple[ConsumerGroupHeartbeatTopicPartitions, ...]) -> Partitions:
    """The partitions of a list as it is in requests and responses."""
    return frozenset((each.topic_id, number) for each in topics if each.topic_id for number in each.partitions)


def _listed(partitions: Partitions) -> tuple[ConsumerGroupHeartbeatTopicPartitions, ...]:
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        numbers.setdefault(topic_id, []).append(number)
    return tuple(
        ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(each))
        for topic_id, each in numbers.items()
    )
