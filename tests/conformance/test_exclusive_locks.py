"""Scenario 19: whatever the members do, no record is ever locked by two of them."""

import asyncio
import random

import pytest

from kafka_groups.types import AcknowledgeType, member_id_of, random_uuid
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.consuming import values
from tests.support.members.raw_member import NOTHING, Acquired, Limits, RawMember, accept, acknowledge
from tests.support.targets import Target, everywhere

PARTITIONS = (0, 1)
BATCHES = 12
MEMBERS = 4
ROUNDS = 25
DELIVERY_LIMIT = 8

Place = tuple[int, int]
"""Partition and offset."""


class Ledger:
    """What must be so after what the members did: who holds which record, how often it was delivered, which ended."""

    def __init__(self) -> None:
        self.holder: dict[Place, RawMember] = {}
        self.deliveries: dict[Place, int] = {}
        self.accepted: set[Place] = set()
        self.ended: set[Place] = set()

    def acquired(self, member: RawMember, acquired: Acquired) -> None:
        """A fetch locked these for the member: they must have been free, and their counts must be right."""
        for run in acquired.runs:
            for offset in range(run.first, run.last + 1):
                place = (run.partition, offset)
                assert place not in self.holder, f"{place} is locked by two members"
                assert place not in self.ended, f"{place} was delivered after its end"
                self.holder[place] = member
                self.deliveries[place] = self.deliveries.get(place, 0) + 1
                assert run.delivery_count == self.deliveries[place]

    def of(self, member: RawMember) -> list[Place]:
        """What the member holds."""
        return sorted(place for place, holder in self.holder.items() if holder is member)

    def acknowledged(self, place: Place, kind: AcknowledgeType) -> None:
        """The holder acknowledged the record."""
        del self.holder[place]
        if kind is AcknowledgeType.ACCEPT:
            self.accepted.add(place)
        if kind is not AcknowledgeType.RELEASE or self.deliveries[place] >= DELIVERY_LIMIT:
            self.ended.add(place)

    def gone(self, member: RawMember) -> None:
        """The member's session ended: what it held is free again."""
        for place in self.of(member):
            self.acknowledged(place, AcknowledgeType.RELEASE)


async def settle_some(member: RawMember, ledger: Ledger, rng: random.Random) -> None:
    """Acknowledge some of what the member holds, or end its session."""
    if member.session_epoch == 0:
        return
    if rng.random() < 0.1:
        await member.close_session()
        ledger.gone(member)
    elif rng.random() < 0.05:
        await member.client.disconnect()
        ledger.gone(member)
        # Under the same id, a real Kafka that is late to notice the disconnection would end the next session too.
        member.session_epoch, member.member_id = 0, member_id_of(random_uuid(rng))
    else:
        kinds = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)
        chosen = [(place, rng.choice(kinds)) for place in ledger.of(member) if rng.random() < 0.6]
        await member.settle(*(acknowledge(kind, offset, partition=partition) for (partition, offset), kind in chosen))
        for place, kind in chosen:
            ledger.acknowledged(place, kind)


def some_limits(rng: random.Random) -> Limits:
    most = rng.randint(1, 12)
    return Limits(max_wait_ms=0, max_records=most, batch_size=rng.randint(1, most), record_limit=rng.random() < 0.5)


async def produce_some(target: Target, topic: Topic, rng: random.Random) -> int:
    sizes = [(partition, rng.choice((1, 1, 3, 10))) for partition in PARTITIONS for _ in range(BATCHES // 2)]
    for partition, size in sizes:
        await target.cluster.produce(topic, values(size), partition)
    return sum(size for _, size in sizes)


@everywhere
@pytest.mark.parametrize("seed", range(4))
async def test_19_no_record_is_ever_locked_by_two_members(target: Target, seed: int) -> None:
    rng = random.Random(seed)
    topic = await target.cluster.create_topic(len(PARTITIONS))
    group_id = await target.group_of(topic, PARTITIONS, {"share.delivery.count.limit": str(DELIVERY_LIMIT)})
    produced = await produce_some(target, topic, rng)
    members = [target.member(group_id, topic) for _ in range(MEMBERS)]
    await target.member(group_id, topic).fetch(NOTHING, partitions=PARTITIONS)  # keeps the counts: see scenario 21
    ledger = Ledger()

    for _ in range(ROUNDS):
        fetching = rng.sample(members, rng.randint(1, MEMBERS))
        limits = [some_limits(rng) for _ in fetching]
        fetches = (member.fetch(limit, partitions=PARTITIONS) for member, limit in zip(fetching, limits, strict=True))
        for member, acquired in zip(fetching, await asyncio.gather(*fetches), strict=True):
            ledger.acquired(member, acquired)
        for member in rng.sample(members, rng.randint(0, MEMBERS)):
            await settle_some(member, ledger, rng)

    for member in members:
        if member.session_epoch:
            await member.close_session()
        ledger.gone(member)
    await accept_the_rest(target.member(group_id, topic), ledger, produced)
    assert len(ledger.ended) == produced
    assert len(ledger.accepted) > 0
    for partition in PARTITIONS:
        await target.cluster.until_lag(group_id, topic, 0, partition)


async def accept_the_rest(member: RawMember, ledger: Ledger, produced: int) -> None:
    """Fetch and accept until every record has come to an end."""

    async def fetch_and_accept() -> int:
        acquired = await member.fetch(Limits(max_wait_ms=100), partitions=PARTITIONS)
        ledger.acquired(member, acquired)
        await member.settle(*(accept(run.first, run.last, run.partition) for run in acquired.runs))
        for place in ledger.of(member):
            ledger.acknowledged(place, AcknowledgeType.ACCEPT)
        return len(ledger.ended)

    await until(fetch_and_accept, lambda ended: ended >= produced)
