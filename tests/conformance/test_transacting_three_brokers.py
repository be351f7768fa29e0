"""A transactional writer whose brokers are killed and stopped, and give away their partitions and coordinators."""

import pytest

from tests.support.producing.transacting_program import TransactingProgram
from tests.support.three_brokers import Trio

PARTITIONS = 3
SAFE = {"min.insync.replicas": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_each_input_is_written_once_while_brokers_come_and_go(trio: Trio, seed: int) -> None:
    configs = SAFE if trio.is_real else {}
    output = await trio.client().create_topic(PARTITIONS, replicas=3, configs=configs)
    source = await trio.client().create_topic(replicas=3)
    servers = ",".join(f"{host}:{port}" for host, port in trio.brokers.addresses.values())
    async with TransactingProgram(servers, output.name, PARTITIONS, source.name, trio.brokers.network) as program:
        await program.go_on(20)
        for node_id in (seed, seed % 3 + 1):
            await trio.kill(node_id)
            await program.go_on(20)
            await trio.restart(node_id)
            await program.go_on(20)
        for partition in range(PARTITIONS):
            await (trio.brokers.settle() if trio.is_real else trio.brokers.move_leader(output, partition))
            await program.go_on(5)
        await trio.stop(seed % 3 + 1)
        await program.go_on(20)
        await trio.restart(seed % 3 + 1)
        await program.go_on(5)
        await program.check()
