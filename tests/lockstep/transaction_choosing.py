"""Random steps of transactional producers: some behave, some are zombies, some send nonsense."""

import random
from collections.abc import Callable
from typing import Any

from tests.lockstep.running import Source
from tests.lockstep.side import Side
from tests.lockstep.transaction_running import IDS
from tests.lockstep.transaction_steps import (
    Add,
    AddOffsets,
    CommitInTransaction,
    CommitPlain,
    Describe,
    End,
    FetchOffsets,
    Init,
    Look,
    Marker,
    Send,
    SendPlain,
    TransactionStep,
)

_STEPS = 60
_CLIENTS = {"ann": "x", "ben": "x", "cat": "y"}
"""Two of them share a transactional id, and fence each other."""


class TransactionChoice(Source):
    """The steps of one seed. A client uses new epochs or old ones, and sometimes the other ones."""

    def __init__(self, seed: int, steps: int = _STEPS) -> None:
        self._rng = random.Random(f"transactions {seed}")
        self._left = steps
        self._is_new = {name: self._rng.random() < 0.6 for name in _CLIENTS}
        self._coming: list[Any] = [Init(by=name, txn=txn) for name, txn in _CLIENTS.items() if name != "ben"]

    def next(self, side: Side) -> Any:
        """The next step."""
        self._left -= 1
        if self._left < 0:
            return None
        if not self._coming:
            self._coming = self._some()
        return self._coming.pop(0)

    def _some(self) -> list[Any]:
        """One step, or the few that go together."""
        name = self._rng.choice(list(_CLIENTS))
        kinds: dict[Callable[[str, str], list[Any]], int] = {
            self._write: 40,
            self._end: 22,
            self._look: 16,
            self._offsets: 12,
            self._begin: 6,
            self._odd: 14,
        }
        kind = self._rng.choices(list(kinds), list(kinds.values()))[0]
        return kind(name, _CLIENTS[name])

    def _version(self, name: str, new: int, old: int) -> int:
        is_new = self._is_new[name] if self._rng.random() < 0.95 else not self._is_new[name]
        return new if is_new else old

    def _write(self, name: str, txn: str) -> list[Any]:
        topic, partition = self._rng.choice(("t", "t", "u")), self._rng.randrange(2)
        version = self._version(name, self._rng.choice((12, 13)), self._rng.choice((9, 11)))
        send = Send(by=name, txn=txn, topic=topic, partition=partition, count=self._rng.randint(1, 3), version=version)
        return [send] if version >= 12 else [Add(by=name, txn=txn, topic=topic, partitions=(partition,)), send]

    def _end(self, name: str, txn: str) -> list[Any]:
        shift = self._rng.choices((0, -1, 1), (90, 8, 2))[0]
        end = End(
            by=name,
            txn=txn,
            committed=self._rng.random() < 0.65,
            shift=shift,
            version=self._version(name, 5, self._rng.choice((1, 4))),
        )
        return [end, *([end] if self._rng.random() < 0.1 else []), Describe(txn=txn)]

    def _begin(self, name: str, txn: str) -> list[Any]:
        shift = self._rng.choices((None, 0, -1, 1), (60, 25, 10, 5))[0]
        init: TransactionStep = Init(by=name, txn=txn, shift=shift)
        return [init, init] if self._rng.random() < 0.8 else [init]

    def _offsets(self, name: str, txn: str) -> list[Any]:
        version = self._version(name, self._rng.choice((5, 6)), self._rng.choice((3, 4)))
        commit = CommitInTransaction(
            by=name, txn=txn, partition=self._rng.randrange(2), offset=self._rng.randint(0, 9), version=version
        )
        if self._rng.random() < 0.15:
            return [CommitPlain(offset=self._rng.randint(0, 9))]
        before = [] if version >= 5 else [AddOffsets(by=name, txn=txn)]
        return [*before, commit, FetchOffsets(require_stable=self._rng.random() < 0.6)]

    def _look(self, _name: str, txn: str) -> list[Any]:
        topic = self._rng.choice(("t", "u"))
        look: TransactionStep = Look(topic=topic, partition=self._rng.randrange(2))
        return [self._rng.choice((look, look, Describe(txn=txn), FetchOffsets()))]

    def _odd(self, name: str, txn: str) -> list[Any]:
        rng = self._rng
        other = next(each for each in IDS if each != txn)
        odd: list[TransactionStep] = [
            SendPlain(),
            Add(by=name, txn=txn, partitions=(0, 7)),
            Add(by=name, txn=txn, partitions=(0, 1), verify_only=True),
            Add(by=name, txn=txn, topic="u", partitions=(1,), verify_only=False),
            Add(by=name, txn=txn, partitions=(1,), version=1),
            Send(by=name, txn=txn, sequence_shift=rng.choice((-1, 2)), version=12),
            Send(by=name, txn=txn, version=rng.choice((10, 11)), partition=rng.randrange(2)),
            Send(by=name, txn=txn, version=12, is_transactional=False),
            AddOffsets(by=name, txn=txn),
            Marker(
                by=name,
                txn=txn,
                committed=rng.random() < 0.5,
                shift=rng.choice((-1, 0, 1)),
                coordinator_epoch=rng.choice((-1, 0, 0)),
                transactions=rng.choice((0, 2)),
            ),
            Describe(txn=other),
        ]
        return [rng.choice(odd), *([Look()] if rng.random() < 0.5 else [])]
