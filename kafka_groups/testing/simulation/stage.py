"""The parts of a simulated world, put together."""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Self

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.configs.group_configs import GroupConfigs
from kafka_groups.broker.profile import DEFAULT_PROFILE
from kafka_groups.config.cluster.groups import share_group_config
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.testing.simulation.checks.log_oracle import Beginnings
from kafka_groups.testing.simulation.checks.verdict import WireVerdict
from kafka_groups.testing.simulation.checks.wire_tap import WireTap
from kafka_groups.testing.simulation.faults.chaos_actions import ChaosActions
from kafka_groups.testing.simulation.faults.late_storage import LateStorage
from kafka_groups.testing.simulation.faults.network_faults import NetworkFaults
from kafka_groups.testing.simulation.faults.seeded_faults import FaultDraws, SeededFaults
from kafka_groups.testing.simulation.processes import ProcessNetwork
from kafka_groups.testing.simulation.supervisor import ProcessSupervisor
from kafka_groups.testing.simulation.trace import Trace, Traced
from kafka_groups.testing.simulation.virtual_time import Simulation

__all__ = ["Stage", "StageOptions"]


@frozen
class StageOptions:
    """The arguments of `simulate`; its docstring describes them."""

    faults: SeededFaults
    brokers: int
    settings: Mapping[str, object] | None
    write_event: Callable[[str], object]


@frozen(eq=False)
class Stage:
    """The parts of a simulated world, and how the faults begin and end."""

    simulation: Simulation
    faults: SeededFaults
    draws: FaultDraws
    trace: Trace
    network: ProcessNetwork
    cluster: EmbeddedCluster
    tap: WireTap
    supervisor: ProcessSupervisor
    verdict: WireVerdict
    chaos: ChaosActions
    violations: list[str]

    @classmethod
    def built(cls, simulation: Simulation, options: StageOptions) -> Self:
        """Put the parts together. Nothing runs yet."""
        clock, seed = simulation.clock, simulation.seed
        draws = FaultDraws(options.faults)
        trace = Trace(asyncio.get_running_loop().time, options.write_event)
        network, frames = MemoryNetwork(), NetworkFaults(_rng(seed, "frames"), clock, draws)
        cluster = EmbeddedCluster(options.brokers, network=network, settings=options.settings, clock=clock, seed=seed)
        violations: list[str] = []
        storage = cluster.logs.storage = LateStorage(_rng(seed, "storage"), draws)
        storage.on_append = Beginnings(cluster.metadata, cluster.logs, violations).appended
        frames.arm(cluster.faults)
        settings = DEFAULT_PROFILE.settings(options.settings)
        config_of = GroupConfigs(settings, cluster.metadata, share_group_config)
        tap = network.plan = WireTap(Traced(frames, trace), clock, network.is_open, config_of)
        supervisor = ProcessSupervisor(draws.counts, trace)
        # The label is older than the class. Another one would draw other faults for every seed that was ever noted.
        chaos = ChaosActions(_rng(seed, "mischief"), cluster, frames, draws, tap, supervisor.processes)
        verdict = WireVerdict(cluster, tap)
        return cls(
            simulation,
            options.faults,
            draws,
            trace,
            ProcessNetwork(network),
            cluster,
            tap,
            supervisor,
            verdict,
            chaos,
            violations,
        )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what changes in the cluster's metadata within the block.

        After it, nothing leads from the brokers to the program. Python keeps the connections of a consumer that was
        killed until it is gone, and would keep the whole world if they led to the consumer.
        """
        metadata = self.cluster.metadata
        with ExitStack() as stack:
            stack.callback(metadata.on_change(self.tap.metadata_changed))
            stack.callback(metadata.on_change(lambda _image, delta: self.trace.note(delta)))
            yield

    async def strike(self) -> None:
        """Let faults strike for as long as they are to. Afterwards all brokers and processes are running."""
        asyncio.get_running_loop().call_later(self.faults.seconds, self.draws.stop)
        await self.chaos.run(self.faults.seconds)


def _rng(seed: int, purpose: str) -> random.Random:
    return random.Random(f"{seed}/{purpose}")
