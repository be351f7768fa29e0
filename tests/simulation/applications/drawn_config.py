"""The configuration of a simulated application, drawn from a seed: small batches and rooms, waits, and compression.

The version of transactions is drawn, too. In some seeds it rises while the application runs.
"""

import asyncio
import random
from collections.abc import Mapping

from kafka_groups.testing.simulation.streams.instance import Deployment

__all__ = ["draw_transaction_version", "drawn_config"]

_FEATURE, _FIRST, _NEWEST = "transaction.version", 1, 2
_OLD_SHARE, _RISING_SHARE = 0.3, 0.5
_RISE_S = (1.0, 60.0)

_CHOICES: Mapping[str, tuple[object, ...]] = {
    "producer.linger.ms": (0, 5, 50, 300),
    "producer.batch.size": (1, 200, 2_000, 131_072),
    "producer.buffer.memory": (500, 5_000, 33_554_432),
    "producer.max.request.size": (1_000, 1_048_576),
    "producer.max.in.flight.requests.per.connection": (1, 2, 3, 5, 5),
    "producer.compression.type": ("none", "none", "gzip", "snappy", "lz4", "zstd"),
    "consumer.fetch.max.bytes": (200, 16_777_216),
    "consumer.max.partition.fetch.bytes": (100, 1_048_576),
    "consumer.fetch.buffer.bytes": (300, 5_000, 33_554_432),
    "consumer.fetch.max.wait.ms": (150, 500),
}


def drawn_config(seed: int) -> dict[str, object]:
    """Return keys of the producer and the consumers, by dotted names."""
    rng = random.Random(f"{seed}/config")
    return {name: rng.choice(choices) for name, choices in _CHOICES.items()}


async def draw_transaction_version(seed: int, deployment: Deployment) -> None:
    """Let the cluster have the newest version of transactions, or the first one, perhaps for a while only."""
    rng, metadata = random.Random(f"{seed}/transactions"), deployment.world.cluster.metadata
    if rng.random() < _OLD_SHARE:
        metadata.finalize_features({_FEATURE: _FIRST})
        if rng.random() < _RISING_SHARE:
            await asyncio.sleep(rng.uniform(*_RISE_S))
            metadata.finalize_features({_FEATURE: _NEWEST})
