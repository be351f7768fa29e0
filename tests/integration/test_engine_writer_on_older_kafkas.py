"""The idempotent writer on a Kafka whose Produce has names of topics."""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.protocol.compression import Compression
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.kafka.real_kafka import unique
from tests.support.producing.writing_program import WritingProgram

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

PARTITIONS = 2


@pytest.fixture(scope="module", params=["3.9.1", pytest.param("3.7.2", marks=pytest.mark.long)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with KafkaProcess(request.param) as started:
        yield started.bootstrap_servers


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
async def test_records_arrive_once_and_in_order(servers: str, compression: Compression) -> None:
    topic, admin = unique("topic"), AdminClient({"bootstrap.servers": servers})
    await asyncio.to_thread(admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result)
    async with WritingProgram(servers, topic, PARTITIONS, compression=compression) as program:
        await program.go_on(20)
        await program.flush()
        await program.check()
