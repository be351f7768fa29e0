"""A simulated application: polls, works, acknowledges this way or that, keeps a record of what it was told."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.batch import ShareRecords, deliveries_of
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.share.delivery.records import ShareRecord, delivery_of
from kafka_groups.share.parts import Environment
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.types import AcknowledgeType, TopicIdPartition
from tests.simulation.trace import Trace
from tests.simulation.wire_tap import Place

_KINDS = (AcknowledgeType.ACCEPT,) * 90 + (AcknowledgeType.RELEASE,) * 5 + (AcknowledgeType.REJECT,) * 3
_KINDS_WITH_RENEW = (*_KINDS, AcknowledgeType.RENEW, AcknowledgeType.RENEW)


_MOST_ERRORS_AT_ONCE = 100
"""So many polls in a row may fail without time passing."""


class Member:
    """One member of the group with its application.

    Args:
        name: Its client id.
        bootstrap_servers: The brokers.
        network: The way to them.
        clock: Virtual time.
        rng: Its own randomness.
        config: Its configuration.
        lock_ms: How long locks last.
        counts: Counts the times when it was too slow.
        trace: Where it notes what it gets, does and hears.

    Attributes:
        accepted: What the application wanted to be accepted.
    """

    def __init__(
        self,
        name: str,
        bootstrap_servers: str,
        network: MemoryNetwork,
        clock: VirtualClock,
        rng: random.Random,
        config: Mapping[str, Any],
        *,
        lock_ms: int,
        counts: Counter[str],
        trace: Trace,
    ) -> None:
        self.name = name
        self._clock = clock
        self._rng = rng
        self._lock_ms = lock_ms
        self._counts = counts
        self._trace = trace
        self._is_explicit = config.get("acknowledgement_mode") == "explicit"
        self._is_calm = False
        self._task: asyncio.Task[None] | None = None
        self._stale: list[str] = []
        self._errors_at = (0, 0)
        self._said: Counter[Place] = Counter()
        self._told: Counter[Place] = Counter()
        self._confirmed: set[Place] = set()
        self.accepted: set[Place] = set()
        self._consumer = AsyncKafkaShareConsumer(
            environment=Environment(network=network, clock=clock, rng=rng),
            bootstrap_servers=bootstrap_servers,
            client_id=name,
            fetch_max_wait_ms=5000,
            request_timeout_ms=6000,
            default_api_timeout_ms=20_000,
            **config,
        )
        self._consumer.set_acknowledgement_callback(self._hear)

    @property
    def member_id(self) -> str:
        """What the coordinator knows it by."""
        return self._consumer.member_id

    def start(self, topic: str) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._work(topic), name=self.name)

    def calm_down(self) -> None:
        """Do everything right from now on: accept, and in time."""
        self._is_calm = True

    async def kill(self) -> None:
        """Die on the spot: the connections break, and nobody is told anything."""
        await self._end_task()
        await self._consumer._client.abort()
        self._consumer._application.is_closed = True
        self._consumer._finalizer.detach()

    async def retire(self) -> None:
        """Stop working and close the consumer in good order."""
        await self._end_task()
        await self._consumer.close(timeout=20)

    async def _end_task(self) -> None:
        task = self._task
        assert task is not None
        if task.done():
            await task  # raises what ended it too early
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    # ------------------------------------------------------------------------------------- its work

    async def _work(self, topic: str) -> None:
        await self._consumer.subscribe([topic])
        while True:
            try:
                records = await self._consumer.poll(self._rng.choice((1.0, 8.0, 20.0)))
                await self._process(records)
            except KafkaGroupsError as error:
                self._trace.note(self.name, "met", error)
                self._note_error(error)  # of the background, such as no reachable broker; a real application logs it

    def _note_error(self, error: KafkaGroupsError) -> None:
        """Give up if polls fail without taking time: then the consumer has failed for good, which nothing may cause."""
        now_ms = self._clock.now_ms()
        self._errors_at = (now_ms, self._errors_at[1] + 1) if self._errors_at[0] == now_ms else (now_ms, 1)
        assert self._errors_at[1] < _MOST_ERRORS_AT_ONCE, f"{self.name} cannot go on: {error!r}"

    async def _process(self, records: ShareRecords) -> None:
        now_ms = self._clock.now_ms()
        self._trace.note(self.name, "got", [(record.partition, record.offset) for record in records])
        for delivery in deliveries_of(records):
            if delivery.lock_deadline_ms <= now_ms:
                self._stale.append(f"{self.name} was handed {delivery!r} after its lock had ended")
        await asyncio.sleep(self._pace())
        for record in records:
            self._decide(record)
        if self._is_explicit and self._rng.random() < 0.3:
            await self._consumer.commit_sync(10)
        elif self._rng.random() < 0.2:
            self._consumer.commit_async()
        if self._rng.random() < 0.03:
            self._counts["member that pauses"] += 1
            self._consumer.pause()

    def _pace(self) -> float:
        if self._is_calm:
            return 0.05
        if self._rng.random() < 0.10:
            self._counts["member slower than its lock"] += 1
            return self._lock_ms / 1000 * self._rng.uniform(1.05, 2.5)
        return self._rng.choice((0.0, 0.01, 0.3, 1.0))

    def _decide(self, record: ShareRecord) -> None:
        place = (TopicIdPartition(delivery_of(record).topic_id, record.partition), record.offset)
        self._said[place] += 1
        kind = AcknowledgeType.ACCEPT
        if self._is_explicit:
            kind = kind if self._is_calm else self._rng.choice(_KINDS_WITH_RENEW)
            self._consumer.acknowledge(record, kind)
        if kind is AcknowledgeType.ACCEPT:
            self.accepted.add(place)

    def _hear(self, fate: Acknowledged) -> None:
        self._trace.note(self.name, "heard", fate)
        for offset in fate.offsets():
            place = (fate.partition, offset)
            self._told[place] += 1
            if fate.error is None and not self._is_explicit:
                self._confirmed.add(place)

    # ----------------------------------------------------------------------------------- the verdict

    def violations(self, is_done: Callable[[Place], bool]) -> list[str]:
        """What this member saw that must not be; `is_done` knows which records are done with for good."""
        untold = [place for place, times in self._said.items() if self._told[place] != times]
        unfounded = [place for place in self._confirmed if not is_done(place)]
        return [
            *self._stale,
            *(f"{self.name} said {self._said[p]}, was told {self._told[p]} fates of {p}" for p in untold),
            *(f"{self.name} was told that {place} is accepted, and no broker said so" for place in unfounded),
        ]
