"""A writer whose brokers are killed, stopped, and give away their partitions: each record is written once, in order."""

import pytest

from tests.support.producing.writing_program import WritingProgram
from tests.support.three_brokers import Trio

PARTITIONS = 3
SAFE = {"min.insync.replicas": "2"}


def servers_of(trio: Trio) -> str:
    return ",".join(f"{host}:{port}" for host, port in trio.brokers.addresses.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_each_record_is_written_once_while_brokers_come_and_go(trio: Trio, seed: int) -> None:
    topic = await trio.client().create_topic(PARTITIONS, replicas=3, configs=SAFE if trio.is_real else {})
    async with WritingProgram(servers_of(trio), topic.name, PARTITIONS, trio.brokers.network) as program:
        await program.go_on(20)
        for node_id in (seed, seed % 3 + 1):
            await trio.kill(node_id)
            await program.go_on(20)
            await trio.restart(node_id)
            await program.go_on(20)
        for partition in range(PARTITIONS):
            await (trio.brokers.settle() if trio.is_real else trio.brokers.move_leader(topic, partition))
            await program.go_on(5)
        await trio.stop(seed % 3 + 1)
        await program.go_on(20)
        await trio.restart(seed % 3 + 1)
        await program.flush()
        await program.check()
