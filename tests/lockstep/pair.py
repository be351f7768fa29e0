"""A real Kafka and an embedded cluster in memory, on which any number of runs take place."""

import contextlib
from collections.abc import AsyncIterator

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.tcp import TcpNetwork
from tests.lockstep.classic_running import ClassicRun
from tests.lockstep.consumer_running import ConsumerRun
from tests.lockstep.preparing import prepare
from tests.lockstep.running import Outcome, Run, Source
from tests.lockstep.side import Side, Sides, closing
from tests.lockstep.streams_running import StreamsRun
from tests.lockstep.transaction_running import TransactionRun
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES


@frozen
class Pair:
    """Both clusters.

    Attributes:
        network: The network of the embedded one.
        embedded: Its address.
        real: The address of the real Kafka.
        profile: The release that both are.
    """

    network: MemoryNetwork
    embedded: str
    real: str
    profile: Profile

    async def run(self, source: Source, *, loaded: bool = True) -> Outcome:
        """Take the source's steps on topics and a group of their own, whose share-partitions are loaded or not yet."""
        async with self.sides(loaded=loaded) as sides:
            return await Run(sides).through(source)

    async def run_classic(self, source: Source) -> Outcome:
        """Take the source's steps, in a classic group."""
        async with self.sides(loaded=False) as sides:
            return await ClassicRun(sides).through(source)

    async def run_consumers(self, source: Source) -> Outcome:
        """Take the source's steps, in a consumer group."""
        async with closing(self._sides()) as sides:
            return await ConsumerRun(sides).through(source)

    async def run_streams(self, source: Source) -> Outcome:
        """Take the source's steps, in a streams group."""
        async with closing(self._sides()) as sides:
            return await StreamsRun(sides).through(source)

    async def run_transactions(self, source: Source) -> Outcome:
        """Take the source's steps, with transactional producers."""
        async with closing(self._sides()) as sides:
            return await TransactionRun(sides).through(source)

    @contextlib.asynccontextmanager
    async def sides(self, *, loaded: bool = True) -> AsyncIterator[Sides]:
        """Topics and a group of a run's own, on both clusters."""
        async with closing(self._sides()) as sides:
            await prepare(sides, self.profile, loaded=loaded)
            yield sides

    def _sides(self) -> Sides:
        suffix = unique("run")
        embedded = Side.at(self.embedded, "embedded", self.network, suffix, self.profile)
        return Sides(embedded, Side.at(self.real, "real", TcpNetwork(), suffix, self.profile))


@contextlib.asynccontextmanager
async def pair_with(real: str, profile: Profile = DEFAULT_PROFILE) -> AsyncIterator[Pair]:
    """A real Kafka at this address and a new embedded cluster of the same release."""
    network = MemoryNetwork()
    settings = dict(EMBEDDED_PROPERTIES)
    async with EmbeddedCluster(network=network, settings=settings, profile=profile.name) as cluster:
        yield Pair(network, cluster.bootstrap_servers, real, profile)
        assert cluster.unexpected_errors == ()
