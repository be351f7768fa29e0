"""Full garbage collections are postponed while a long request is under way, and at no other time."""

import asyncio
import gc
from collections.abc import Iterator
from uuid import UUID

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.runtime.scheduling.full_collections import FullCollections
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.codec import RequestHeader, decode_request_header
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.requests.raw_client import RawClient

LONG = MetadataRequest(topics=tuple(MetadataRequestTopic(topic_id=UUID(int=number + 1)) for number in range(4_000)))


class Holder:
    """What postpones them."""


@pytest.fixture(autouse=True)
def threshold() -> Iterator[tuple[int, int, int]]:
    """The thresholds of the process, which are as before after each test."""
    before = gc.get_threshold()
    yield before
    after = gc.get_threshold()
    gc.set_threshold(*before)
    assert after == before


def test_they_come_back_with_the_last_who_postponed_them(threshold: tuple[int, int, int]) -> None:
    collections, ann, ben = FullCollections(), Holder(), Holder()
    for holder in (ann, ann, ben):
        collections.postpone(holder)
    assert gc.get_threshold()[:2] == threshold[:2]
    collections.resume(ann)
    assert collections.is_postponed
    collections.resume(ann)
    collections.resume(ben)
    assert not collections.is_postponed


def test_a_threshold_that_the_program_sets_meanwhile_stays(threshold: tuple[int, int, int]) -> None:
    collections, ann = FullCollections(), Holder()
    collections.postpone(ann)
    gc.set_threshold(threshold[0], threshold[1], 77)
    collections.resume(ann)
    assert gc.get_threshold()[2] == 77
    gc.set_threshold(*threshold)


def test_one_that_begins_while_another_ends_does_not_keep_them_away() -> None:
    collections, ann, ben = FullCollections(), Holder(), Holder()
    collections.postpone(ann)
    collections.postpone(ben)
    collections.resume(ann)
    collections.postpone(ann)
    collections.resume(ben)
    collections.resume(ann)
    assert not collections.is_postponed


def test_they_come_back_when_who_postponed_them_is_gone() -> None:
    collections, ann, ben = FullCollections(), Holder(), Holder()
    collections.postpone(ann)
    collections.postpone(ben)
    del ben
    assert collections.is_postponed
    del ann
    assert not collections.is_postponed


async def turns_until(*, postponed: bool) -> None:
    while FullCollections().is_postponed is not postponed:  # noqa: ASYNC110 - a wait of any length could miss it
        await asyncio.sleep(0)


@pytest.mark.parametrize("end", ["answered", "disconnected", "killed"])
async def test_a_long_request_postpones_them_however_it_ends(end: str) -> None:
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network) as cluster:
        client = RawClient(network, "127.0.0.1", cluster.metadata.brokers[1].port)
        asking = asyncio.create_task(client.ask(LONG))
        await turns_until(postponed=True)
        if end == "disconnected":
            asking.cancel()
            await client.disconnect()
        elif end == "killed":
            await cluster.kill_broker_async(1)
        await asyncio.gather(asking, return_exceptions=True)
        await turns_until(postponed=False)
        await client.disconnect()


async def test_a_large_frame_postpones_them_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    postponed = []

    def decoded_header(frame: bytes) -> RequestHeader:
        postponed.append((len(frame) > 50_000, FullCollections().is_postponed))
        return decode_request_header(frame)

    monkeypatch.setattr("kafka_groups.broker.server.decode_request_header", decoded_header)
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network) as cluster:
        client = RawClient(network, "127.0.0.1", cluster.metadata.brokers[1].port)
        await client.ask(MetadataRequest(topics=()))
        await client.ask(LONG)
        await client.disconnect()
    assert postponed == [(False, False), (True, True)]
