"""Brokers for tests of classic groups: the first rebalance does not wait long."""

from collections.abc import Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster

__all__ = ["classic_brokers"]


@pytest.fixture(name="bootstrap_servers", params=["embedded", "kafka"])
def classic_brokers(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kind of broker, as the fixture `bootstrap_servers`."""
    if request.param == "kafka":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()
