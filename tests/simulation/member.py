"""A simulated application: polls, works, acknowledges this way or that, keeps a record of what it was told."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.share.delivery.records import ShareRecord, delivery_of
from kafka_groups.share.delivery.share_records import ShareRecords, deliveries_of
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import GroupLedger
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

_KINDS = (AcknowledgeType.ACCEPT,) * 90 + (AcknowledgeType.RELEASE,) * 5 + (AcknowledgeType.REJECT,) * 3
_KINDS_WITH_RENEW = (*_KINDS, AcknowledgeType.RENEW, AcknowledgeType.RENEW)


TOO_SLOW = "member slower than its lock"
"""A fault of the application."""

_MOST_ERRORS_AT_ONCE = 100
"""So many polls in a row may fail without time passing."""


class Member:
    """One member of the group with its application.

    Args:
        name: Its client id.
        world: Where it lives.
        rng: Its own randomness.
        config: Its configuration.
        lock_ms: How long locks last.

    Attributes:
        accepted: What the application wanted to be accepted.
    """

    def __init__(
        self, name: str, world: SimulatedWorld, rng: random.Random, config: Mapping[str, Any], *, lock_ms: int
    ) -> None:
        self.name = name
        self._world = world
        self._rng = rng
        self._lock_ms = lock_ms
        self._is_explicit = config.get("acknowledgement_mode") == "explicit"
        self._has_retired = False
        self._stale: list[str] = []
        self._errors_at = (0, 0)
        self._said: Counter[RecordId] = Counter()
        self._told: Counter[RecordId] = Counter()
        self._confirmed: set[RecordId] = set()
        self.accepted: set[RecordId] = set()
        self._consumer = world.consumer(
            client_id=name,
            fetch_max_wait_ms=5000,
            request_timeout_ms=6000,
            default_api_timeout_ms=20_000,
            **config,
        )
        self._consumer.set_acknowledgement_callback(self._hear)

    async def live(self, topic: str) -> None:
        """Work until the end, and close the consumer in good order, unless the process is killed."""
        try:
            await self._work(topic)
        finally:
            await self._consumer.close(timeout=20)
            self._has_retired = True

    # ------------------------------------------------------------------------------------- its work

    async def _work(self, topic: str) -> None:
        await self._consumer.subscribe([topic])
        while True:
            try:
                records = await self._consumer.poll(self._rng.choice((1.0, 8.0, 20.0)))
                await self._process(records)
            except KafkaGroupsError as error:
                self._world.note(self.name, "met", error)
                self._note_error(error)  # of the background, such as no reachable broker; a real application logs it

    def _note_error(self, error: KafkaGroupsError) -> None:
        """Give up if polls fail without taking time: then the consumer has failed for good, which nothing may cause."""
        now_ms = self._world.clock.now_ms()
        self._errors_at = (now_ms, self._errors_at[1] + 1) if self._errors_at[0] == now_ms else (now_ms, 1)
        assert self._errors_at[1] < _MOST_ERRORS_AT_ONCE, f"{self.name} cannot go on: {error!r}"

    async def _process(self, records: ShareRecords) -> None:
        now_ms = self._world.clock.now_ms()
        self._world.note(self.name, "got", [(record.partition, record.offset) for record in records])
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
            self._world.struck["member that pauses"] += 1
            self._consumer.pause()

    def _pace(self) -> float:
        if not self._world.is_faulty:
            return 0.05
        if self._world.strikes(TOO_SLOW, 0.10):
            return self._lock_ms / 1000 * self._rng.uniform(1.05, 2.5)
        return self._rng.choice((0.0, 0.01, 0.3, 1.0))

    def _decide(self, record: ShareRecord) -> None:
        place = (TopicIdPartition(delivery_of(record).topic_id, record.partition), record.offset)
        self._said[place] += 1
        kind = AcknowledgeType.ACCEPT
        if self._is_explicit:
            kind = self._rng.choice(_KINDS_WITH_RENEW) if self._world.is_faulty else kind
            self._consumer.acknowledge(record, kind)
        if kind is AcknowledgeType.ACCEPT:
            self.accepted.add(place)

    def _hear(self, result: Acknowledged) -> None:
        self._world.note(self.name, "heard", result)
        for offset in result.offsets():
            place = (result.partition, offset)
            self._told[place] += 1
            if result.error is None and not self._is_explicit:
                self._confirmed.add(place)

    # ----------------------------------------------------------------------------------- the verdict

    def violations(self, ledger: GroupLedger) -> list[str]:
        """What this member saw that must not be. A member that was killed was not told all that it should hear."""
        if not self._has_retired:
            return self._stale
        untold = [place for place, times in self._said.items() if self._told[place] != times]
        # Where another member's acknowledgement was taken and the answer lost, a late one is taken without a word.
        unfounded = [
            place for place in self._confirmed if not ledger.may_be_done(place, other_than=self._consumer.member_id)
        ]
        return [
            *self._stale,
            *(f"{self.name} said {self._said[p]}, was told {self._told[p]} results of {p}" for p in untold),
            *(f"{self.name} was told that {place} is accepted, and no broker said so" for place in unfounded),
        ]
