"""Releases that archive: the log, the count and the callback say so; the limit is the group's, where it is told."""

import asyncio
import logging
import random
from typing import Any

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.group_configs import GroupConfigsManager, GroupNumbers
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import ConfigurationError, GroupAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords, ShareFetchPartitionData
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.archive_watch import DELIVERY_LIMIT, ArchiveWatch
from kafka_groups.share.delivery.inbox import CompletedFetch
from kafka_groups.share.delivery.returned import ArchivedRecords
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.deliveries import acquired, batch
from tests.unit.share.fetching import Bench

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


class Watched(Bench):
    """A bench whose application holds some ranges, (first, last, delivery count), and that judges what goes back."""

    def __init__(self, *ranges: tuple[int, int, int], limit: int | None = None) -> None:
        super().__init__(acknowledgement_mode="explicit", prefetch_batches=0)
        numbers = GroupNumbers("g", (DELIVERY_LIMIT,), since="4.3")
        backoff = BackoffTimer(100, 1_000, random.Random(1))
        events = self.inbox.events
        self.limits = GroupConfigsManager(numbers, metadata=Metadata(), events=events, backoff=backoff, timeout_ms=1)
        self.archives = ArchiveWatch(self.inbox, self.limits, events)
        if limit is not None:
            self.limits.values = {DELIVERY_LIMIT: limit}
        self.archived: list[ArchivedRecords] = []
        self.application.archive_callback = self.archived.append
        if ranges:
            self.wait(*ranges)
            self.records = list(self.begin())

    def wait(self, *ranges: tuple[int, int, int]) -> None:
        blob = b"".join(batch(first, last) for first, last, _ in ranges)
        self.inbox.ready.append(CompletedFetch(acquired(*ranges), blob))

    def hold(self, *ranges: tuple[int, int, int]) -> None:
        """Have the application fetch these ranges, and hold them in a session with the leader."""
        assert not self.begin()
        got = tuple(AcquiredRecords(first_offset=a, last_offset=b, delivery_count=count) for a, b, count in ranges)
        blob = b"".join(batch(first, last) for first, last, _ in ranges)
        part = ShareFetchPartitionData(partition_index=0, records=blob, acquired_records=got)
        self.fetched(self.fetch(), parts=(part,))
        self.records = list(self.end())

    def judge(self) -> list[ArchivedRecords]:
        self.archives.judge()
        self.application.run_callback()
        return self.archived

    def warnings(self) -> list[str]:
        return [event.text for event in self.inbox.events.take() if event.subject is not None]

    def release(self) -> None:
        for record in self.records:
            self.application.acknowledge(record, RELEASE)
        self.commit()


@pytest.mark.parametrize("release_after", [None, 30.0])
def test_a_release_of_the_last_delivery_is_told(release_after: float | None) -> None:
    bench = Watched((0, 1, 4), (2, 4, 5), limit=5)
    for record, kind in zip(bench.records, (RELEASE, RELEASE, RELEASE, ACCEPT, RELEASE), strict=True):
        bench.application.acknowledge(record, kind, release_after if kind is RELEASE else None)
    bench.commit()
    assert bench.judge() == [ArchivedRecords("orders", 0, (2, 4), 5, is_assumed=False)]
    assert bench.inbox.records_archived == 2
    (warning,) = bench.warnings()
    assert "2 records of orders-0 (offsets 2 to 4) archives them: this was delivery 5 of 5 (share.del" in warning


def test_other_acknowledgements_and_earlier_deliveries_are_not() -> None:
    bench = Watched((0, 0, 4), (1, 2, 5), limit=5)
    for record, kind in zip(bench.records, (RELEASE, ACCEPT, REJECT), strict=True):
        bench.application.acknowledge(record, kind)
    bench.commit()
    assert bench.judge() == []
    assert bench.inbox.records_archived == 0


def test_closing_with_records_on_their_last_delivery_is_told() -> None:
    bench = Watched((0, 2, 5), limit=5)
    bench.application.begin_leaving()
    assert [archived.offsets for archived in bench.judge()] == [(0, 1, 2)]


def test_what_goes_back_before_the_limit_is_known_is_judged_afterwards() -> None:
    bench = Watched((0, 0, 1), (1, 1, 2), (2, 2, 3))
    bench.release()
    (request,) = bench.archives.poll(0).requests
    assert request.api is ApiKey.DESCRIBE_CONFIGS
    bench.application.run_callback()
    assert bench.archived == []
    bench.archives.on_response(request, limit_of(3), 0)
    assert bench.archives.poll(0).requests == ()
    bench.application.run_callback()
    assert bench.archived == [ArchivedRecords("orders", 0, (2,), 3, is_assumed=False)]


def test_a_limit_that_was_lowered_meanwhile_counts() -> None:
    bench = Watched((0, 0, 2))
    bench.limits.wanted = True
    (request,) = bench.archives.poll(0).requests
    bench.archives.on_response(request, limit_of(5), 0)
    bench.release()
    (request,) = bench.archives.poll(40_000).requests
    bench.archives.on_response(request, limit_of(2), 40_000)
    bench.archives.poll(40_000)
    bench.application.run_callback()
    assert bench.archived == [ArchivedRecords("orders", 0, (0,), 2, is_assumed=False)]


def test_without_a_limit_kafkas_is_assumed_and_doubts_are_told() -> None:
    bench = Watched((0, 1, 4), (2, 2, 5))
    bench.release()
    (request,) = bench.archives.poll(0).requests
    bench.archives.on_failure(request, GroupAuthorizationFailedError("no"), 0)
    bench.archives.poll(0)
    bench.application.run_callback()
    assert bench.archived == [ArchivedRecords("orders", 0, (2,), 5, is_assumed=True)]
    archived, doubt = bench.warnings()
    assert "this was delivery 5 of 5 (Kafka's default, because the brokers do not report the group's limit)" in archived
    assert "after up to 5 deliveries. The consumer cannot tell whether that archives them" in doubt
    assert "Allow the operation DescribeConfigs on the group" in doubt


@pytest.mark.parametrize("go_back", ["pause", "unsubscribe", "session", "close"])
def test_records_that_go_back_unseen_are_told(go_back: str) -> None:
    bench = Watched((0, 0, 1), limit=2)
    bench.wait((5, 6, 2))
    bench.turn()
    (leader,) = bench.manager._leaders.values()
    if go_back == "pause":
        bench.application.pause()
        bench.inbox.ready[0].acquired.session = leader.session.id
        bench.turn()
    elif go_back == "unsubscribe":
        bench.application.begin_leaving()
        bench.application.drop_all()
    elif go_back == "session":
        bench.learn_leaders([2], epoch=2)
        bench.turn()
    else:
        bench.manager.give_up()
    assert [archived.offsets for archived in bench.judge()] == [(5, 6)]


KINDS = pytest.mark.parametrize("kind", [ACCEPT, REJECT, RELEASE])


@KINDS
def test_records_whose_session_ended_while_they_were_in_hand_are_told_when_they_are_acknowledged(
    kind: AcknowledgeType,
) -> None:
    bench = Watched(limit=5)
    bench.hold((0, 0, 5), (1, 1, 4))
    bench.manager.connection_lost("b1", 9)
    for record in bench.records:
        bench.application.acknowledge(record, kind)
    bench.commit()
    bench.turn()
    assert bench.judge() == [ArchivedRecords("orders", 0, (0,), 5, is_assumed=False)]
    assert bench.inbox.records_archived == 1
    warned = [text for text in bench.warnings() if "archives them" in text]
    assert len(warned) == 1
    assert (kind is RELEASE) is warned[0].startswith("The release of 1 record of orders-0")
    assert (kind is not RELEASE) is warned[0].startswith("The late or failed acknowledgement of 1 record of orders-0")


@KINDS
def test_records_whose_lock_expired_in_hand_are_told_when_the_broker_refuses_the_acknowledgement(
    kind: AcknowledgeType,
) -> None:
    bench = Watched(limit=5)
    bench.hold((0, 0, 5), (1, 1, 4))
    for record in bench.records:
        bench.application.acknowledge(record, kind)
    bench.commit()
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    assert [archived.offsets for archived in bench.judge()] == [(0,)]


def test_records_whose_session_ended_in_hand_are_told_once_when_the_consumer_closes() -> None:
    bench = Watched(limit=5)
    bench.hold((0, 0, 5))
    bench.manager.connection_lost("b1", 9)
    bench.application.begin_leaving()
    bench.manager.give_up()
    assert [archived.offsets for archived in bench.judge()] == [(0,)]


def test_records_whose_renewal_is_refused_are_not_in_hand_any_more_and_are_told() -> None:
    bench = Watched(limit=5)
    bench.hold((0, 0, 5))
    bench.application.acknowledge(bench.records[0], AcknowledgeType.RENEW)
    bench.commit()
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    assert [archived.offsets for archived in bench.judge()] == [(0,)]


def limit_of(limit: int) -> ClientResponse:
    config = DescribeConfigsResourceResult(name=DELIVERY_LIMIT, value=str(limit), read_only=False, is_sensitive=False)
    result = DescribeConfigsResult(resource_type=32, resource_name="g", configs=(config,))
    return ClientResponse(DescribeConfigsResponse(results=(result,)), 4, 1)


def test_the_callback_must_be_callable() -> None:
    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world, world.consumer() as consumer:
            wrong: Any = "print"
            with pytest.raises(ConfigurationError, match="callback='print' is not callable"):
                consumer.set_archive_callback(wrong)
            consumer.set_archive_callback(None)

    run_simulated(program, seed=5)


@pytest.mark.parametrize("limit", [2, 3])
def test_the_groups_limit_is_asked_of_the_brokers(caplog: pytest.LogCaptureFixture, limit: int) -> None:
    caplog.set_level(logging.WARNING, "kafka_groups")

    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world:
            world.cluster.alter_group_configs("g", {DELIVERY_LIMIT: str(limit)})
            told, counted = await release_until_archived(world, limit)
            assert told == [ArchivedRecords(TOPIC, 0, (0,), limit, is_assumed=False)]
            assert counted == 1
            await world.admin.until_lag("g", world.topic, 0)

    run_simulated(program, seed=6, limit_s=600)
    assert [r for r in caplog.messages if f"delivery {limit} of {limit} (share.delivery.count.limit)" in r]


async def release_until_archived(world: World, limit: int) -> tuple[list[ArchivedRecords], float]:
    told: list[ArchivedRecords] = []
    await world.produce([b"poison"])
    async with world.consumer(acknowledgement_mode="explicit") as consumer:
        consumer.set_archive_callback(told.append)
        await consumer.subscribe([TOPIC])
        deliveries = 0
        while records := await consumer.poll(timeout=10):
            deliveries += 1
            assert len(told) == 0
            consumer.acknowledge_all(records, RELEASE)
        counted = consumer.metrics()["records-archived-by-release-total"]
    assert deliveries == limit
    return told, counted


def test_a_response_that_several_polls_take_goes_back_in_parts() -> None:
    watched = Watched((0, 0, 1), limit=3)
    watched.application.acknowledge(watched.records[0], ACCEPT)
    blob = batch(1, 600) + batch(601, 1200)
    watched.inbox.ready.append(CompletedFetch(acquired((1, 1200, 3)), blob))
    for first in (1, 601):
        records = watched.begin()
        assert next(iter(records)).offset == first
        watched.application.acknowledge_all(records, RELEASE)
        watched.application.send_acknowledged()
    assert [offset for found in watched.judge() for offset in found.offsets] == list(range(1, 1201))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("longest_s", [0.0, 1.4])
def test_every_record_that_is_archived_is_told(seed: int, longest_s: float) -> None:
    """Whatever consumers do with their records, also after the locks have expired: what is archived is told."""
    told: list[tuple[int, int]] = []

    async def program(simulation: Simulation) -> None:
        rng = simulation.rng
        async with World(simulation, partitions=2) as world:
            limit = str(rng.choice([2, 3, 4]))
            world.cluster.alter_group_configs("g", {DELIVERY_LIMIT: limit, "share.record.lock.duration.ms": "1000"})
            for partition in (0, 1, 0, 1):
                await world.produce([b"%d" % n for n in range(10)], partition)
            group = world.cluster.group("g")
            while group.lag != 0:
                async with world.consumer(
                    acknowledgement_mode="explicit", max_poll_records=rng.choice([1, 4, 500])
                ) as consumer:
                    consumer.set_archive_callback(lambda it: told.extend((it.partition, o) for o in it.offsets))
                    await consumer.subscribe([TOPIC])
                    await work(consumer, rng, longest_s)
            archived = [(ended.partition, ended.offset) for ended in group.archived]
            assert sorted(told) == sorted(archived)
            assert archived

    run_simulated(program, seed=seed, limit_s=7200)


async def work(consumer: AsyncKafkaShareConsumer[Any, Any], rng: random.Random, longest_s: float) -> None:
    """Poll a few times; end while holding records, or records that were never taken."""
    for _ in range(rng.randint(1, 4)):
        records = await consumer.poll(timeout=rng.choice([0.3, 3.0]))
        await asyncio.sleep(rng.uniform(0, longest_s))
        for record in records:
            hold_s = rng.choice([None, None, 0.5])
            kind = rng.choice([ACCEPT, RELEASE, RELEASE, RELEASE, REJECT])
            consumer.acknowledge(record, kind, hold_s if kind is RELEASE else None)
        after = rng.choice(["commit", "pause", "unsubscribe", "nothing", "nothing"])
        if after == "commit":
            await consumer.commit_sync()
        elif after == "pause":
            consumer.pause()
        elif after == "unsubscribe":
            await consumer.unsubscribe()
            await consumer.subscribe([TOPIC])
    if rng.random() < 0.5:
        await consumer.poll(timeout=rng.choice([0.3, 3.0]))
