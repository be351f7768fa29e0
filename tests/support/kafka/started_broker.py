"""The broker of a test that runs on the embedded broker and on releases of Kafka."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess

__all__ = ["started_broker"]


@contextmanager
def started_broker(kind: str, settings: Mapping[str, object]) -> Iterator[str]:
    """Start a broker, and yield its address. The embedded one must not have failed unexpectedly at the end.

    Args:
        kind: `embedded`, or the release of a real Kafka.
        settings: The settings of the broker.
    """
    if kind == "embedded":
        with EmbeddedCluster(settings=settings) as cluster:
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()
    else:
        with KafkaProcess(kind, {name: str(value) for name, value in settings.items()}) as kafka:
            yield kafka.bootstrap_servers
