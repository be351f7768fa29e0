"""Random steps of a consumer group: members that behave, restart, and sometimes send nonsense."""

import random
from collections.abc import Callable
from typing import Any

from attrs import evolve

from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from tests.lockstep.classic_choosing import DYNAMIC, PLACES
from tests.lockstep.classic_members import NOBODY
from tests.lockstep.classic_steps import NAMELESS, STATIC
from tests.lockstep.consumer_steps import (
    Claim,
    ConsumerCommit,
    ConsumerFetchOffsets,
    ConsumerHeartbeat,
    DescribeConsumerGroup,
    RemoveConsumers,
)
from tests.lockstep.epoch_members import REBALANCE_MS
from tests.lockstep.offset_steps import DeleteOffsets
from tests.lockstep.running import Source
from tests.lockstep.side import Side
from tests.lockstep.steps import AddPartitions, CreateTopic, DeleteGroup, DeleteTopic, Step

_STEPS = 60
_CLIENTS = (*DYNAMIC, *STATIC)
_TOPICS = (("t",), ("u",), ("t", "u"), ("t", "u"), ("t", "nothing"))
_ASSIGNORS = (None, None, None, "uniform", "range")
_REGEXES = ("t-", "(t|u)-", "u-", "nothing-")


class ConsumerChoice(Source):
    """The steps of one seed. Each has a few clients of its own, so that assignments change often enough."""

    def __init__(self, seed: int, steps: int = _STEPS) -> None:
        self._rng = random.Random(seed)
        self._left = steps
        self._clients = self._rng.sample(_CLIENTS, self._rng.choice((2, 3, 3, 4)))
        self._number = 0

    def next(self, side: Side) -> Step | None:
        """A step of a client, or of an administrator."""
        self._left -= 1
        if self._left < 0:
            return None
        kinds: dict[Callable[[Side, str], Step], int] = {
            self._ordinary: 60,
            self._restart: 5,
            self._subscribe: 6,
            self._leave: 5,
            self._odd: 10,
            self._offsets: 9,
            self._topics: 2,
            self._rare: 2,
        }
        kind = self._rng.choices(list(kinds), list(kinds.values()))[0]
        return kind(side, self._rng.choice(self._clients))

    def answered(self, step: Step, response: Any) -> None:
        """Nothing to remember: the side has the members."""

    # ------------------------------------------------------------------------------------------- what clients do

    def _ordinary(self, side: Side, name: str) -> Step:
        if side.consumers[name].epoch == 0:
            return self._join(name)
        claim = self._rng.choice((Claim.ASSIGNED, Claim.ASSIGNED, Claim.UNCHANGED))
        return ConsumerHeartbeat(by=name, claim=claim)

    def _join(self, name: str, *, fresh: bool = False) -> Step:
        by_regex = self._rng.random() < 0.1
        return ConsumerHeartbeat(
            by=name,
            epoch=JOIN_GROUP_EPOCH,
            fresh=fresh,
            topics=None if by_regex else self._rng.choice(_TOPICS),
            regex=self._rng.choice(_REGEXES) if by_regex else None,
            assignor=self._rng.choice(_ASSIGNORS),
            claim=Claim.NOTHING,
            rebalance_timeout_ms=REBALANCE_MS,
        )

    def _restart(self, side: Side, name: str) -> Step:
        """Start a client again: a static one mostly says before that it will be back."""
        if name in STATIC and side.consumers[name].epoch > 0 and self._rng.random() < 0.6:
            return ConsumerHeartbeat(by=name, epoch=LEAVE_STATIC_EPOCH)
        return self._join(name, fresh=self._rng.random() < 0.7)

    def _subscribe(self, _side: Side, name: str) -> Step:
        if self._rng.random() < 0.3:
            return ConsumerHeartbeat(by=name, regex=self._rng.choice((*_REGEXES, "")))
        assignor = self._rng.choice(_ASSIGNORS)
        return ConsumerHeartbeat(by=name, topics=self._rng.choice(_TOPICS), assignor=assignor)

    def _leave(self, side: Side, name: str) -> Step:
        if self._rng.random() < 0.6:
            return ConsumerHeartbeat(by=name, epoch=LEAVE_GROUP_EPOCH)
        others = self._rng.sample(self._clients, self._rng.choice((1, 1, 2)))
        return RemoveConsumers(members=tuple(self._removed(each) for each in others))

    def _removed(self, name: str) -> tuple[str | None, str | None]:
        instance = name if name in STATIC else None
        wrong = self._rng.choice((*STATIC, NOBODY))
        return self._rng.choice(((name, instance), (None, instance), (name, None), (name, wrong), (NOBODY, None)))

    def _offsets(self, side: Side, name: str) -> Step:
        places = tuple(self._rng.sample(PLACES, self._rng.choice((1, 2, 3))))
        self._number += 1
        shift = self._rng.choice((0,) * 6 + (-1, -2, 1))
        kind = self._rng.random()
        if kind < 0.6:
            return ConsumerCommit(
                by=name,
                places=places,
                offset=self._number,
                shift=shift,
                outside=self._rng.random() < 0.1,
                version=self._rng.choice((None, None, 9, 9, 8)),
            )
        if kind < 0.85:
            return ConsumerFetchOffsets(by=name, places=places, shift=shift)
        return DeleteOffsets(places=places)

    def _topics(self, _side: Side, _name: str) -> Step:
        return self._rng.choice((
            AddPartitions(topic="u", count=self._rng.randint(2, 4)),
            DeleteTopic(topic="u"),
            CreateTopic(topic="u", partitions=self._rng.choice((2, 3))),
            CreateTopic(topic="nothing", partitions=1),
        ))  # fmt: skip

    # ---------------------------------------------------------------------------------------------------- nonsense

    def _odd(self, _side: Side, name: str) -> Step:
        rng = self._rng
        joining = ConsumerHeartbeat(
            by=name, epoch=JOIN_GROUP_EPOCH, topics=("t",), claim=Claim.NOTHING, rebalance_timeout_ms=REBALANCE_MS
        )
        return rng.choice((
            lambda: ConsumerHeartbeat(by=name, shift=rng.choice((-2, -1, 1)), claim=rng.choice(list(Claim))),
            lambda: ConsumerHeartbeat(by=name, claim=Claim.EVERYTHING),
            lambda: ConsumerHeartbeat(by=name, claim=Claim.NOTHING),
            lambda: ConsumerHeartbeat(by=name, epoch=-3),
            lambda: ConsumerHeartbeat(by=name, epoch=LEAVE_STATIC_EPOCH),
            lambda: ConsumerHeartbeat(by=name, of=rng.choice(self._clients)),
            lambda: ConsumerHeartbeat(by=name, of=NOBODY, epoch=rng.choice((1, LEAVE_GROUP_EPOCH))),
            lambda: ConsumerHeartbeat(by=name, instance=rng.choice((*STATIC, NAMELESS, NOBODY))),
            lambda: ConsumerHeartbeat(by=name, assignor=rng.choice(("other", "simple"))),
            lambda: ConsumerHeartbeat(by=name, rack=rng.choice(("rack", ""))),
            lambda: ConsumerHeartbeat(by=name, regex=rng.choice(("(", "[a", "*"))),
            lambda: ConsumerHeartbeat(by=name, topics=()),
            lambda: ConsumerHeartbeat(by=name, epoch=JOIN_GROUP_EPOCH),
            lambda: evolve(joining, claim=Claim.EVERYTHING),
            lambda: evolve(joining, of=rng.choice(self._clients)),
        ))()  # fmt: skip

    def _rare(self, _side: Side, name: str) -> Step:
        return self._rng.choice((
            DeleteGroup(),
            ConsumerHeartbeat(by=name, group="nothing", epoch=1),
            ConsumerHeartbeat(by=name, group="nothing", epoch=LEAVE_GROUP_EPOCH),
            DescribeConsumerGroup(group="nothing"),
            DeleteOffsets(places=(("t", 0),), group="nothing"),
        ))  # fmt: skip
