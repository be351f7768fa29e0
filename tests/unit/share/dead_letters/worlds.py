"""A simulated cluster with a topic, its dead-letter topic, and what the command uses of them."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import AdminConfig, admin_config
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.share.dead_letters.letter_planner import FailedLetter
from kafka_groups.share.dead_letters.letter_sender import LetterResult, SentLetter
from kafka_groups.share.dead_letters.resending import Resending, ResendingRequest
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from kafka_groups.share.dead_letters.rules.sending import SendingRules, SkippedLetter
from kafka_groups.share.dead_letters.topic import DeadLetterTopic
from kafka_groups.testing.simulation import Simulation
from kafka_groups.types import Header
from tests.unit.share.dead_letters.made_letters import DEAD, dlq_headers

__all__ = ["GROUP", "RULES", "TIMEOUT_MS", "DeadLetterWorld", "places", "texts"]

TIMEOUT_MS: Final = 10_000
GROUP: Final = f"{DEAD}-resend"
RULES: Final = SendingRules(to=None, most=3)
_KEPT: Mapping[str, str] = {"retention.ms": "-1"}


class DeadLetterWorld:
    """A simulated cluster with the topics `orders` and `orders.dead`."""

    def __init__(self, simulation: Simulation, *, partitions: int = 1, brokers: int = 1) -> None:
        self.simulation = simulation
        self.partitions = partitions
        self.network = MemoryNetwork()
        self.cluster = EmbeddedCluster(brokers, network=self.network, clock=simulation.clock)

    async def __aenter__(self) -> "DeadLetterWorld":
        await self.cluster.start_async()
        for topic in ("orders", DEAD):
            self.cluster.create_topic(topic, self.partitions, configs=_KEPT)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cluster.stop_async()

    @property
    def environment(self) -> Environment:
        """The environment of a client."""
        return Environment(self.network, self.simulation.clock, self.simulation.rng)

    @property
    def config(self) -> AdminConfig:
        """The configuration of a client."""
        return admin_config(bootstrap_servers=self.cluster.bootstrap_servers)

    def topic(self, name: str = DEAD) -> DeadLetterTopic:
        """The dead-letter topic."""
        return DeadLetterTopic(name, self.config, TIMEOUT_MS, self.environment)

    def bury(
        self,
        *values: str | None,
        key: str | None = "k",
        headers: Sequence[Header] | None = None,
        partition: int = 0,
        topic: str = DEAD,
    ) -> None:
        """Append dead letters, by default those of `orders:0@7`."""
        keys = None if key is None else [key] * len(values)
        given = [(name, value or b"") for name, value in (dlq_headers() if headers is None else headers)]
        self.cluster.produce(topic, values, keys=keys, headers=given, partition=partition)

    async def send(
        self,
        selection: DeadLetterSelection = EVERYTHING,
        rules: SendingRules = RULES,
        count: int | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> list[LetterResult]:
        """Send dead letters again, and return the results."""
        results: list[LetterResult] = []
        async with self.topic() as topic:
            request = ResendingRequest(selection, count, rules)
            resending = Resending(topic, request, self.config, timeout_ms, self.environment)
            await resending.send(await resending.most(), results.append)
        return results

    def sent(self, topic: str = "orders") -> list[tuple[bytes | None, Sequence[Header]]]:
        """The values and headers of a topic's records."""
        return [(record.value, record.headers) for record in self.cluster.records(topic)]


def places(results: Sequence[LetterResult], kind: type[LetterResult] = SentLetter) -> list[str]:
    """The places of results of a kind."""
    return [str(each.place) for each in results if isinstance(each, kind)]


def texts(results: Sequence[LetterResult]) -> list[str]:
    """The reasons why dead letters were not sent."""
    reasons = [each.reason for each in results if isinstance(each, SkippedLetter)]
    return [*reasons, *(str(each.error) for each in results if isinstance(each, FailedLetter))]
