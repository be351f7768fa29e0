"""Random steps of a classic group: clients that behave, restart, repeat themselves, and sometimes send nonsense."""

import random
from collections.abc import Callable
from typing import Any

from kafka_groups.testing.kafka_process import SINGLE_NODE_PROPERTIES
from tests.lockstep.classic_members import NOBODY, ClassicState
from tests.lockstep.classic_steps import (
    NAMELESS,
    STATIC,
    ClassicHeartbeat,
    DescribeClassicGroup,
    JoinGroup,
    LeaveGroup,
    Leaver,
    Protocols,
    SyncGroup,
)
from tests.lockstep.offset_steps import CommitOffsets, DeleteOffsets, FetchOffsets
from tests.lockstep.running import Source
from tests.lockstep.side import Side
from tests.lockstep.steps import DeleteGroup, Place, Step

DYNAMIC = ("ann", "ben", "cat")
CLIENTS = (*DYNAMIC, *STATIC)
PLACES: tuple[Place, ...] = (("t", 0), ("u", 0), ("u", 1))
_ODD_PLACES: tuple[Place, ...] = (("t", 7), ("nothing", 0), ("u", -1))
_STEPS = 60
_ADMIN = "admin"
_TOO_SHORT_MS = int(SINGLE_NODE_PROPERTIES["group.min.session.timeout.ms"]) - 1

_PROTOCOLS: tuple[Protocols, ...] = (
    (("range", ("t",)),),
    (("range", ("t",)), ("sticky", ("t",))),
    (("sticky", ("t", "u")), ("range", ("t", "u"))),
    (("sticky", ("u",)), ("range", ("t",))),
    (("range", ("t", "u")), ("sticky", ("u",)), ("third", ())),
)
_WITHOUT_COMMON: tuple[Protocols, ...] = ((), (("other", ("t",)),), (("sticky", ("t",)),))


class ClassicChoice(Source):
    """The steps of one seed. Each has a few clients of its own, so that rounds end often enough."""

    def __init__(self, seed: int, steps: int = _STEPS) -> None:
        self._rng = random.Random(seed)
        self._left = steps
        self._clients = self._rng.sample(CLIENTS, self._rng.choice((2, 3, 3, 4, 5)))
        self._protocols = {name: self._rng.choice(_PROTOCOLS) for name in self._clients}
        self._type = self._rng.choice(("consumer",) * 9 + ("connect",))
        self._forgotten: list[str] = []
        self._number = 0

    def next(self, side: Side) -> Step | None:
        """A step of a client, or of an administrator."""
        self._left -= 1
        if self._left < 0:
            return None
        if self._forgotten and self._rng.random() < 0.4:
            return LeaveGroup(by=_ADMIN, members=(Leaver(self._forgotten.pop()),))
        kinds: dict[Callable[[Side, str], Step], int] = {
            self._ordinary: 70,
            self._restart: 5,
            self._leave: 4,
            self._odd: 8,
            self._offsets: 10,
            self._repeat: 2,
            self._rare: 1,
        }
        kind = self._rng.choices(list(kinds), list(kinds.values()))[0]
        return kind(side, self._one_of(side))

    def answered(self, step: Step, response: Any) -> None:
        """Nothing to remember: the side has the members."""

    # ------------------------------------------------------------------------------------------- what clients do

    def _ordinary(self, side: Side, name: str) -> Step:
        state = side.classic[name]
        if state.waiting:
            return DescribeClassicGroup(by=_ADMIN, version=self._rng.randint(0, 6))
        if state.phase == "out":
            return self._join(name)
        if state.phase == "joined":
            return self._sync(side, name)
        if self._rng.random() < 0.15:
            self._protocols[name] = self._rng.choice(_PROTOCOLS)
            return self._join(name)
        if self._rng.random() < 0.1:
            return self._sync(side, name)
        return ClassicHeartbeat(by=name, version=self._version(name, 0, 3, 4))

    def _restart(self, side: Side, name: str) -> Step:
        """Start a client again. What a dynamic member was must be removed, or all rounds would wait for it."""
        if name in DYNAMIC:
            self._forget(side, name)
        if self._rng.random() < 0.3:
            self._protocols[name] = self._rng.choice(_PROTOCOLS)
        return self._join(name, fresh=True)

    def _leave(self, side: Side, name: str) -> Step:
        if self._rng.random() < 0.3:
            return LeaveGroup(by=name, members=(self._itself(side, name),), version=self._rng.choice((0, 2)))
        names = [name, *self._rng.sample(self._clients, self._rng.choice((0, 0, 1, 2)))]
        return LeaveGroup(
            by=_ADMIN, members=tuple(self._leaver(side, each) for each in names), version=self._rng.choice((3, 4, 5))
        )

    def _repeat(self, side: Side, name: str) -> Step:
        """Send what waits once more, over another connection."""
        waits = [each for each in self._clients if side.classic[each].waiting]
        name = self._rng.choice(waits or [name])
        return self._rng.choice((self._join(name), self._sync(side, name)))

    def _offsets(self, side: Side, name: str) -> Step:
        places = tuple(self._rng.sample(PLACES, self._rng.choice((1, 2, 3))))
        places += (self._rng.choice(_ODD_PLACES),) if self._rng.random() < 0.15 else ()
        self._number += 1
        kind = self._rng.random()
        if kind < 0.45:
            return self._commit(side, name, places)
        if kind < 0.8:
            version = self._rng.randint(1, 10)
            everything = version > 1 and self._rng.random() < 0.5
            return FetchOffsets(by=_ADMIN, places=None if everything else places, version=version)
        return DeleteOffsets(by=_ADMIN, places=places)

    def _commit(self, side: Side, name: str, places: tuple[Place, ...]) -> Step:
        has_joined = side.classic[name].member_id != "" and self._rng.random() < 0.8
        shift = self._rng.choice((0,) * 8 + (-1, 1))
        return CommitOffsets(
            by=name,
            places=places,
            offset=self._number,
            metadata_size=self._rng.choice((None, 0, 4, 4096, 4097)),
            outside=not has_joined,
            instance=self._wrong_instance() if self._rng.random() < 0.1 else None,
            shift=shift if has_joined else 0,
            version=self._version(name, 2, 7, 10),
        )

    # ---------------------------------------------------------------------------------------------------- nonsense

    def _odd(self, side: Side, name: str) -> Step:
        rng = self._rng
        other = side.labels.of(side.classic[rng.choice(self._clients)].member_id) or NOBODY
        shift = rng.choice((-1, 1))
        return rng.choice((
            lambda: JoinGroup(by=name, instance=self._wrong_instance(), protocols=self._protocols[name]),
            lambda: JoinGroup(by=name, of=NOBODY, protocols=self._protocols[name]),
            lambda: JoinGroup(by=name, protocols=rng.choice(_WITHOUT_COMMON), protocol_type=self._type),
            lambda: JoinGroup(by=name, protocols=self._protocols[name], protocol_type=rng.choice(("connect", ""))),
            lambda: JoinGroup(by=name, session_timeout_ms=_TOO_SHORT_MS, protocols=self._protocols[name]),
            lambda: SyncGroup(by=name, instance=self._wrong_instance()),
            lambda: SyncGroup(by=name, of=rng.choice((other, NOBODY))),
            lambda: SyncGroup(by=name, shift=shift),
            lambda: SyncGroup(by=name, protocol=rng.choice((("consumer", "other"), ("other", "range")))),
            lambda: ClassicHeartbeat(by=name, instance=self._wrong_instance()),
            lambda: ClassicHeartbeat(by=name, of=rng.choice((other, NOBODY))),
            lambda: ClassicHeartbeat(by=name, shift=shift),
        ))()  # fmt: skip

    def _rare(self, _side: Side, name: str) -> Step:
        return self._rng.choice((
            DeleteGroup(),
            JoinGroup(by=name, of=NOBODY, group="nothing"),
            SyncGroup(by=name, group="nothing"),
            ClassicHeartbeat(by=name, group="nothing"),
            LeaveGroup(by=name, members=(Leaver(NOBODY),), group="nothing"),
            DescribeClassicGroup(by=name, group="nothing", version=5),
            DeleteOffsets(by=name, places=(("t", 0),), group="nothing"),
            FetchOffsets(by=name, places=(("t", 0),), group="nothing"),
            CommitOffsets(by=name, places=(("t", 0),), offset=1, shift=3, group="nothing"),
        ))  # fmt: skip

    # ----------------------------------------------------------------------------------------------------- details

    def _one_of(self, side: Side) -> str:
        """A client: mostly one whose next request can be sent."""
        free = [name for name in self._clients if not side.classic[name].waiting]
        late = [name for name in free if side.classic[name].phase != "in"]
        return self._rng.choice(self._rng.choices((late, free, self._clients), (5, 4, 1))[0] or self._clients)

    def _join(self, name: str, *, fresh: bool = False) -> Step:
        version = self._version(name, 0, 5, 9, newest_share=0.6)
        return JoinGroup(
            by=name, fresh=fresh, protocols=self._protocols[name], protocol_type=self._type, version=version
        )

    def _sync(self, side: Side, name: str) -> Step:
        self._number += 1
        members = side.classic[name].members
        leaves_out = side.labels.of(self._rng.choice(members)) if members and self._rng.random() < 0.1 else None
        return SyncGroup(by=name, number=self._number, leaves_out=leaves_out, version=self._version(name, 0, 3, 5))

    def _version(self, name: str, oldest: int, first_static: int, newest: int, *, newest_share: float = 0.7) -> int:
        """A version that the client may use: static members need one with instance ids."""
        if self._rng.random() < newest_share:
            return newest
        return self._rng.randint(first_static if name in STATIC else oldest, newest)

    def _wrong_instance(self) -> str:
        return self._rng.choice((*STATIC, NAMELESS, NOBODY))

    def _itself(self, side: Side, name: str) -> Leaver:
        return Leaver(side.labels.of(side.classic[name].member_id), name if name in STATIC else None)

    def _leaver(self, side: Side, name: str) -> Leaver:
        itself = self._itself(side, name)
        wrong = self._wrong_instance()
        return self._rng.choice(
            (itself, itself, Leaver("", itself.instance), Leaver(itself.label), Leaver(NOBODY, wrong))
        )

    def _forget(self, side: Side, name: str) -> None:
        state: ClassicState = side.classic[name]
        if state.member_id:
            self._forgotten.append(side.labels.of(state.member_id))
