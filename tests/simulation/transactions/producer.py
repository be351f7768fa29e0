"""A transactional producer: one life after the other, and older lives that go on beside newer ones."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.transactions.book import Book, Entry, value_of
from tests.simulation.transactions.brokers_link import BrokersLink
from tests.support.cluster_client import Topic
from tests.support.members.raw_producer import NEW, OLD, RawProducer

__all__ = ["INPUT", "PARTITIONS", "TopicsOfRun", "TransactionalProducer", "group_of"]

T = TypeVar("T")

PARTITIONS, INPUT = 4, "in"
_TIMEOUT_S = 20.0
_BACKOFF_S = (0.05, 0.8)
_PAUSE_S = (0.0, 1.5)
_ATTEMPTS = 12
_FATAL = frozenset({
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "UNKNOWN_PRODUCER_ID",
})  # fmt: skip
_LOST = "no response"

TopicsOfRun = tuple[Topic, Topic]
"""The topic that producers write, and the one whose offsets they commit."""


class _FencedError(Exception):
    """This life of the producer is over."""


def group_of(name: str) -> str:
    """The group whose offsets a producer commits."""
    return f"group of {name}"


class TransactionalProducer:
    """One life of a producer.

    Args:
        name: The transactional id.
        world: Where it lives.
        book: What it writes down for the verdict.
        topics: The topics.
        start_newer: Starts a newer life beside this one.

    Attributes:
        is_wanted: Whether it begins more transactions.
    """

    def __init__(
        self, name: str, world: SimulatedWorld, book: Book, topics: TopicsOfRun, start_newer: Callable[[], object]
    ) -> None:
        self.name = name
        self._world = world
        self._book = book
        self._output, self._input = topics
        self._start_newer = start_newer
        self._rng = random.Random(world.rng.random())
        self._link = BrokersLink(world, name)
        self._raw = RawProducer(self._link, name, self._rng.choice((NEW, NEW, OLD)), wall_ms=world.clock.wall_ms)
        self._first: Producer | None = None
        self.is_wanted = True

    async def live(self) -> None:
        """Write transactions, until a newer life takes over or nobody wants more."""
        try:
            while self.is_wanted:
                await self._init()
                await self._work()
        except _FencedError:
            self._world.struck["fenced"] += 1
        finally:
            self._link.close()

    async def finish(self) -> bool:
        """Abort what an older life has left open; returns whether that worked."""
        try:
            await self._init()
        except _FencedError:
            return False
        finally:
            self._link.close()
        return True

    async def _work(self) -> None:
        """Write transactions until one of them leaves the producer without knowing how to go on."""
        knows_how = True
        while self.is_wanted and knows_how:
            knows_how = await self._transaction(self._book.begin(self.name))
            await asyncio.sleep(self._rng.uniform(*_PAUSE_S))

    # ------------------------------------------------------------------------------------------------ steps

    async def _init(self) -> None:
        """Get an epoch, and so fence every other life, also a newer one of which this one has not heard."""
        self._first = None
        if await self._until_told(self._ask_for_epoch, _ATTEMPTS * 10) != "NONE":
            raise _FencedError
        self._first = self._raw.producer
        self._book.born(self.name, self._first)

    async def _ask_for_epoch(self) -> str:
        self._link.for_id(self.name)
        response = await self._raw.ask_for_id(round(_TIMEOUT_S * 1000))
        if response.error_code.name == "NONE":
            self._raw.took(Producer(response.producer_id, response.producer_epoch))
        return str(response.error_code.name)

    async def _transaction(self, entry: Entry) -> bool:
        """Write a transaction; returns whether the next one can follow without a new epoch."""
        is_whole = await self._fill(entry)
        is_to_commit = is_whole and self._rng.random() < 0.75
        entry.is_asked_for = is_to_commit
        await self._may_stall()
        ended = await self._until_told(lambda: self._end(entry, committed=is_to_commit), _ATTEMPTS)
        return ended == "NONE" and (is_whole or self._raw.version == NEW)

    async def _fill(self, entry: Entry) -> bool:
        """Send records and perhaps offsets; returns whether all of it was acknowledged."""
        index = 0
        for _ in range(self._rng.randint(1, 4)):
            partition, count = self._rng.randrange(PARTITIONS), self._rng.randint(1, 3)
            values = [value_of(self.name, entry.number, index + each) for each in range(count)]
            index += count
            if not await self._send(entry, partition, values):
                return False
            await self._may_stall()
        return self._rng.random() < 0.3 or await self._commit_offset(entry)

    async def _send(self, entry: Entry, partition: int, values: list[bytes]) -> bool:
        if self._raw.version == OLD and not await self._is_done(lambda: self._add(partition)):
            return False
        version = self._raw.produce_version
        request = self._raw.produce_request(self._output, values, partition, version)

        async def once() -> str:
            self._link.for_partition(self._output.name, partition)
            [found] = (await self._link.ask(request, version)).responses[0].partition_responses
            return str(found.error_code.name)

        if not await self._is_done(once):
            return False
        self._raw.acknowledged(self._output, partition, len(values))
        entry.sent.setdefault(partition, []).extend(values)
        return True

    async def _add(self, partition: int) -> str:
        self._link.for_id(self.name)
        return (await self._raw.add(self._output, partition))[partition]

    async def _commit_offset(self, entry: Entry) -> bool:
        group_id = group_of(self.name)

        async def add() -> str:
            self._link.for_id(self.name)
            return await self._raw.add_offsets(group_id)

        async def commit() -> str:
            self._link.for_group(group_id)
            return (await self._raw.commit_offsets_once(group_id, self._input, {0: entry.number}))[0]

        if self._raw.version == OLD and not await self._is_done(add):
            return False
        await self._may_stall()
        if not await self._is_done(commit):
            return False
        entry.offset = entry.number
        return True

    async def _end(self, entry: Entry, *, committed: bool) -> str:
        self._link.for_id(self.name)
        told = await self._raw.end(committed=committed)
        if told == "NONE":
            entry.is_committed = committed
        return told

    # ------------------------------------------------------------------------------------------- asking

    async def _is_done(self, once: Callable[[], Awaitable[str]]) -> bool:
        return await self._until_told(once, _ATTEMPTS) == "NONE"

    async def _until_told(self, once: Callable[[], Awaitable[str]], attempts: int) -> str:
        """Ask until there is an answer that asking again does not change, and return it.

        Raises:
            _FencedError: A newer life, or the coordinator itself, has taken over.
        """
        told = _LOST
        for _ in range(attempts):
            is_fenced = self._is_fenced
            told = await self._told(once)
            if told == "NONE" and is_fenced:
                self._book.violations.append(f"an older life of {self.name} was served after a newer one had begun")
            if told in _FATAL:
                self._world.note(self.name, told)
                raise _FencedError
            if told in ("NONE", "TRANSACTION_ABORTABLE"):
                break
            await asyncio.sleep(self._rng.uniform(*_BACKOFF_S))
        return told

    async def _told(self, once: Callable[[], Awaitable[str]]) -> str:
        try:
            return await once()
        except KafkaGroupsError as error:
            self._world.note(self.name, "met", type(error).__name__)
            return _LOST

    @property
    def _is_fenced(self) -> bool:
        return self._first is not None and self._book.is_fenced(self.name, self._first)

    async def _may_stall(self) -> None:
        """Stand still now and then, while a newer life begins, or for longer than a transaction may take."""
        if self._world.strikes("older_lives_on", 0.012):
            self._start_newer()
            await asyncio.sleep(self._rng.uniform(0, 6))
        elif self._world.strikes("timed_out", 0.006):
            await asyncio.sleep(_TIMEOUT_S * self._rng.uniform(1, 2))
