"""The command `authorization`: the cost of an authorizer with 1,000 ACLs for small requests, by turns."""

import asyncio
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import click
from attrs import define

from kafka_groups.acls import AclBinding
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.cli.output import table
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartition, ShareFetchRequest, ShareFetchTopic
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import TopicIdPartition
from tests.benchmarks.output import console
from tests.support.requests.raw_client import RawClient

__all__ = ["authorization"]

_ACLS = 1_000
_USER = "User:ANONYMOUS"
_WARM_UP = 200
_VALUE = b"v" * 100
_CASES = ("produce", "fetch", "share fetch")


@define
class _Side:
    """One cluster and a client of it."""

    cluster: EmbeddedCluster
    client: RawClient
    place: TopicIdPartition
    share_epoch: int = 0

    def request(self, case: str) -> Any:
        if case == "produce":
            batch = build_batch([NewRecord(_VALUE, timestamp_ms=1)])
            data = TopicProduceData(
                topic_id=self.place.topic_id, partition_data=(PartitionProduceData(index=0, records=batch),)
            )
            return ProduceRequest(acks=1, timeout_ms=1_000, topic_data=(data,))
        if case == "fetch":
            partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=200)
            topics = (FetchTopic(topic_id=self.place.topic_id, partitions=(partition,)),)
            return FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics)
        return self._share_fetch()

    def _share_fetch(self) -> ShareFetchRequest:
        epoch, self.share_epoch = self.share_epoch, self.share_epoch + 1
        topic = ShareFetchTopic(topic_id=self.place.topic_id, partitions=(ShareFetchPartition(partition_index=0),))
        return ShareFetchRequest(
            group_id="g", member_id="A" * 22, share_session_epoch=epoch, max_wait_ms=0, min_bytes=0, max_records=1,
            batch_size=1, topics=() if epoch else (topic,),
        )  # fmt: skip


@click.command()
@click.option("--requests", "count", type=click.IntRange(10), default=4_000, show_default=True, help="Of each kind.")
def authorization(*, count: int) -> None:
    """Produce, fetch and share fetch with an authorizer and 1,000 ACLs, as a fraction of the rate without one."""
    rows = asyncio.run(_measured(count))
    console().print(table("Authorization", ("request", "without (µs)", "with (µs)", "ratio"), rows))


async def _measured(count: int) -> Sequence[Sequence[str]]:
    sides = (await _started(None), await _started(_acls()))
    rows = [await _row(case, sides, count) for case in _CASES]
    for side in sides:
        await side.client.disconnect()
        await side.cluster.stop_async()
    return rows


async def _row(case: str, sides: tuple[_Side, _Side], count: int) -> Sequence[str]:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(count + _WARM_UP):
        for which in (0, 1) if number % 2 else (1, 0):
            took = await _timed(sides[which], sides[which].request(case))
            if number >= _WARM_UP:
                times[which].append(took)
    without, with_acls = map(median, times)
    return case, f"{without * 1e6:.1f}", f"{with_acls * 1e6:.1f}", f"{without / with_acls:.3f}"


async def _timed(side: _Side, request: Any) -> float:
    begun = time.perf_counter()
    await side.client.ask(request)
    return time.perf_counter() - begun


async def _started(acls: Sequence[AclBinding] | None) -> _Side:
    network = MemoryNetwork()
    cluster = EmbeddedCluster(network=network, acls=acls)
    await cluster.start_async()
    topic = cluster.create_topic("t")
    cluster.produce("t", [_VALUE] * 100)
    host, _, port = cluster.bootstrap_servers.partition(":")
    return _Side(cluster, RawClient(network, host, int(port)), topic.topic_id_partition(0))


def _acls() -> list[AclBinding]:
    own = [AclBinding("topic", "t", "literal", _USER, "*", operation, "allow") for operation in ("read", "write")]
    own.append(AclBinding("group", "g", "prefixed", _USER, "*", "read", "allow"))
    others = (
        AclBinding("topic", f"t{number}", "prefixed" if number % 2 else "literal", "User:ann", "*", "read", "allow")
        for number in range(_ACLS - len(own))
    )
    return [*own, *others]
