"""Random steps of a streams group: members that behave, restart, and sometimes send nonsense."""

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from tests.lockstep.classic_choosing import DYNAMIC
from tests.lockstep.classic_members import NOBODY
from tests.lockstep.classic_steps import NAMELESS, STATIC
from tests.lockstep.epoch_members import REBALANCE_MS
from tests.lockstep.offset_steps import DeleteOffsets
from tests.lockstep.running import Source
from tests.lockstep.side import Side
from tests.lockstep.steps import (
    AddPartitions,
    AlterGroupConfig,
    CreateTopic,
    DeleteGroup,
    DeleteTopic,
    DescribeGroupConfigs,
    Place,
    Step,
)
from tests.lockstep.streams_steps import (
    DescribeStreamsGroup,
    ListStreamsGroups,
    Owns,
    RemoveStreams,
    StreamsCommit,
    StreamsFetchOffsets,
    StreamsHeartbeat,
)
from tests.lockstep.streams_timeouts import TimeoutSteps
from tests.lockstep.streams_topologies import COUNTS, INVALID, MALFORMED, STORE, TOPOLOGIES, TROUBLED, USUAL, WORDS

_STEPS = 60
_CLIENTS = (*DYNAMIC, *STATIC)
_PLACES: tuple[Place, ...] = (("t", 0), ("t", 1), ("u", 0), ("u", 1), (WORDS, 0), ("nothing", 0), (STORE, 0))
_HONEST = (Owns.UNCHANGED, Owns.TOLD, Owns.TOLD, Owns.TOLD)
_HUGE_MS = "600000"
_HAVE_TIMEOUTS = 1 / 3

CONFIGS: Mapping[str, tuple[str | None, ...]] = MappingProxyType({
    "streams.num.standby.replicas": ("0", "1", "1", "2", "3", None),
    "streams.session.timeout.ms": ("50000", "60000", "999"),
    "streams.heartbeat.interval.ms": ("600", "1000", "1", "x", None),
    "streams.assignment.interval.ms": ("0", "15000", "15001"),
    "streams.initial.rebalance.delay.ms": ("0", _HUGE_MS, "-1"),
    "streams.rack.aware.assignment.tags": ("zone", "zone,cluster", "", None),
    "streams.assignor.name": ("sticky", "other", None),
})  # fmt: skip


class StreamsChoice(Source):
    """The steps of one seed. Each has a few clients and one topology of its own, so that tasks move often enough.

    In one of three seeds sessions and rebalances time out.
    """

    def __init__(self, seed: int, steps: int = _STEPS) -> None:
        self._rng = random.Random(seed)
        self._left = steps
        self._clients = self._rng.sample(_CLIENTS, self._rng.choice((2, 3, 3, 4)))
        self._processes = {name: self._rng.choice(("left", "right", name)) for name in self._clients}
        self._topology = self._rng.choice((*USUAL, *USUAL, *TROUBLED))
        self._has_endpoints = self._rng.random() < (0.5 if self._topology in USUAL else 0.1)
        self._number = 0
        self._timeouts = TimeoutSteps(self._rng) if self._rng.random() < _HAVE_TIMEOUTS else None
        self._due: list[Step] = []

    def next(self, side: Side) -> Step | None:
        """A step of a client, or of an administrator."""
        if self._due:
            return self._due.pop(0)
        self._left -= 1
        if self._left < 0:
            return None
        kinds: dict[Callable[[Side, str], Step], int] = {
            self._ordinary: 60,
            self._restart: 6,
            self._says: 8,
            self._leave: 5,
            self._odd: 10,
            self._offsets: 8,
            self._topics: 3,
            self._config: 4,
            self._question: 2,
            self._rare: 2,
            self._time_out: 5 if self._timeouts else 0,
        }
        kind = self._rng.choices(list(kinds), list(kinds.values()))[0]
        return kind(side, self._rng.choice(self._clients))

    def answered(self, step: Step, response: Any) -> None:
        """Nothing to remember: the side has the members."""

    # ------------------------------------------------------------------------------------------- what clients do

    def _ordinary(self, side: Side, name: str) -> StreamsHeartbeat:
        if side.streams[name].epoch == 0:
            return self._join(name)
        return StreamsHeartbeat(
            by=name,
            owns=self._rng.choice(_HONEST),
            knows_endpoints=self._rng.random() < 0.9,
            version=self._rng.choice((None,) * 9 + (0,)),
        )

    def _join(self, name: str, *, fresh: bool = False) -> StreamsHeartbeat:
        rng = self._rng
        topology = self._topology if rng.random() < 0.95 else rng.choice(list(TOPOLOGIES))
        return StreamsHeartbeat(
            by=name,
            epoch=JOIN_GROUP_EPOCH,
            fresh=fresh,
            topology=topology,
            topology_epoch=1 if topology in MALFORMED else rng.choice((1,) * 20 + (0,)),
            owns=Owns.NOTHING,
            process=self._processes[name],
            tags=rng.choice(((), (), ("zone",), ("zone", "cluster"))),
            port=rng.choice((None, None, None, 1, 2)) if self._has_endpoints else None,
            offsets=self._reported() if rng.random() < 0.3 else None,
            rebalance_timeout_ms=REBALANCE_MS,
        )

    def _restart(self, side: Side, name: str) -> Step:
        """Start a client again: a static one mostly says before that it will be back."""
        if name in STATIC and side.streams[name].epoch > 0 and self._rng.random() < 0.85:
            return StreamsHeartbeat(by=name, epoch=LEAVE_STATIC_EPOCH)
        if self._rng.random() < 0.3:
            self._processes[name] = self._rng.choice(("left", "right", name))
        return self._join(name, fresh=self._rng.random() < 0.7)

    def _says(self, side: Side, name: str) -> Step:
        """Report what has changed: offsets, an endpoint, tags, a rack."""
        if side.streams[name].epoch == 0:
            return self._join(name)
        rng = self._rng
        return rng.choice((
            lambda: StreamsHeartbeat(by=name, offsets=self._reported(), ends=rng.choice((None, self._reported()))),
            lambda: StreamsHeartbeat(by=name, owns=Owns.TOLD, offsets=self._reported()),
            lambda: StreamsHeartbeat(by=name, ends=self._reported()),
            lambda: StreamsHeartbeat(by=name, port=rng.choice((1, 2, 3)) if self._has_endpoints else None),
            lambda: StreamsHeartbeat(by=name, tags=rng.choice(((), ("zone",), ("zone", "cluster")))),
            lambda: StreamsHeartbeat(by=name, rack=rng.choice(("a", "b"))),
            lambda: StreamsHeartbeat(by=name, process=rng.choice(("left", "right"))),
            lambda: StreamsHeartbeat(by=name, rebalance_timeout_ms=REBALANCE_MS + 1),
            lambda: StreamsHeartbeat(by=name, shutdown=rng.random() < 0.5),
        ))()  # fmt: skip

    def _reported(self) -> tuple[tuple[str, int, int], ...]:
        places = self._rng.sample([("0", 0), ("0", 1), ("1", 0), ("1", 1)], self._rng.choice((0, 1, 2, 3)))
        return tuple((*place, self._rng.choice((0, 5, 100, 2**63 - 1))) for place in sorted(places))

    def _leave(self, _side: Side, name: str) -> Step:
        if self._rng.random() < 0.9:
            return StreamsHeartbeat(by=name, epoch=LEAVE_GROUP_EPOCH, shutdown=self._rng.random() < 0.05)
        return RemoveStreams(members=((name, name if name in STATIC else None),))

    def _offsets(self, _side: Side, name: str) -> Step:
        places = tuple(self._rng.sample(_PLACES, self._rng.choice((1, 1, 2, 3))))
        self._number += 1
        shift = self._rng.choice((0,) * 4 + (-1, -1, -2, 1))
        kind = self._rng.random()
        if kind < 0.6:
            return StreamsCommit(
                by=name,
                places=places,
                offset=self._number,
                shift=shift,
                outside=self._rng.random() < 0.1,
                version=self._rng.choice((None, 9, 9, 9, 8)),
            )
        if kind < 0.85:
            return StreamsFetchOffsets(
                by=name, places=places, shift=self._rng.choice((0, 0, shift)), outside=self._rng.random() < 0.3
            )
        return DeleteOffsets(places=places)

    def _time_out(self, side: Side, name: str) -> Step:
        """Several steps: clients whose sessions or rebalances are to time out, and the wait for that."""
        assert self._timeouts is not None
        other = self._rng.choice([each for each in self._clients if each != name])
        join = self._join(other, fresh=self._rng.random() < 0.7)
        first, *self._due = self._timeouts.choose(self._ordinary(side, name), self._ordinary(side, other), join)
        return first

    # ------------------------------------------------------------------------------------ what administrators do

    def _topics(self, _side: Side, _name: str) -> Step:
        rng = self._rng
        return rng.choice((
            lambda: AddPartitions(topic="u", count=rng.randint(3, 4)),
            lambda: AddPartitions(topic="t", count=3),
            lambda: AddPartitions(topic=rng.choice((WORDS, STORE, COUNTS)), count=rng.randint(3, 4)),
            lambda: DeleteTopic(topic=rng.choice(("t", "u", WORDS, STORE, COUNTS, "nothing"))),
            lambda: CreateTopic(topic=rng.choice(("t", "u")), partitions=rng.choice((2, 2, 3))),
            lambda: CreateTopic(topic="nothing", partitions=rng.choice((1, 3))),
            lambda: CreateTopic(topic=rng.choice((WORDS, STORE)), partitions=rng.choice((2, 5))),
        ))()  # fmt: skip

    def _config(self, _side: Side, _name: str) -> Step:
        name = self._rng.choice((*CONFIGS, "streams.num.standby.replicas", "streams.num.standby.replicas"))
        return AlterGroupConfig(name=name, value=self._rng.choice(CONFIGS[name]))

    def _question(self, _side: Side, _name: str) -> Step:
        states, types = ("Stable", "Reconciling", "Empty", "NotReady"), ("streams", "Consumer", "classic")
        return self._rng.choice((
            ListStreamsGroups,
            lambda: ListStreamsGroups(states=tuple(self._rng.sample(states, 2)), types=("Streams",)),
            lambda: ListStreamsGroups(types=tuple(self._rng.sample(types, 1))),
            lambda: StreamsFetchOffsets(by="admin", outside=True),
            lambda: DescribeGroupConfigs(names=tuple(CONFIGS)),
            lambda: DescribeStreamsGroup(version=0),
        ))()  # fmt: skip

    # ---------------------------------------------------------------------------------------------------- nonsense

    def _odd(self, _side: Side, name: str) -> Step:
        rng = self._rng
        joining = evolve(self._join(name), topology=self._topology)
        return rng.choice((
            lambda: StreamsHeartbeat(by=name, shift=rng.choice((-2, -1, -1, 1)), owns=rng.choice(_HONEST)),
            lambda: StreamsHeartbeat(by=name, shift=rng.choice((0, 0, 0, -1)), owns=rng.choice(list(Owns))),
            lambda: StreamsHeartbeat(by=name, epoch=-3),
            lambda: StreamsHeartbeat(by=name, epoch=LEAVE_STATIC_EPOCH),
            lambda: StreamsHeartbeat(by=name, of=rng.choice(self._clients)),
            lambda: StreamsHeartbeat(by=name, of=NOBODY, epoch=rng.choice((1, LEAVE_GROUP_EPOCH))),
            lambda: StreamsHeartbeat(by=name, instance=rng.choice((*STATIC, NAMELESS, NOBODY))),
            lambda: StreamsHeartbeat(by=name, rack=""),
            lambda: StreamsHeartbeat(by=name, topology=self._topology),
            lambda: StreamsHeartbeat(by=name, offsets=(("0", 0, 1), ("0", 0, 2))),
            lambda: StreamsHeartbeat(by=name, offsets=(("9", 9, -1),)),
            lambda: StreamsHeartbeat(by=name, epoch=JOIN_GROUP_EPOCH),
            lambda: evolve(joining, topology=rng.choice(list(INVALID)), topology_epoch=1),
            lambda: evolve(joining, topology_epoch=rng.choice((-1, 0, 2))),
            lambda: evolve(joining, owns=rng.choice((Owns.UNCHANGED, Owns.EVERYTHING, Owns.ONLY_ACTIVE))),
            lambda: evolve(joining, process=None),
            lambda: evolve(joining, tags=None),
            lambda: evolve(joining, rebalance_timeout_ms=rng.choice((-1, 0))),
            lambda: evolve(joining, of=rng.choice(self._clients)),
            lambda: evolve(joining, instance=rng.choice((*STATIC, NAMELESS))),
        ))()  # fmt: skip

    def _rare(self, _side: Side, name: str) -> Step:
        return self._rng.choice((
            DeleteGroup(),
            DeleteGroup(),
            StreamsHeartbeat(by=name, group="nothing", epoch=1),
            StreamsHeartbeat(by=name, group="nothing", epoch=LEAVE_GROUP_EPOCH),
            DescribeStreamsGroup(group="nothing"),
            DeleteOffsets(places=(("t", 0),), group="nothing"),
        ))  # fmt: skip
