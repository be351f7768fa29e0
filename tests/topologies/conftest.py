"""Java's driver for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.support.kafka.kafka_classpath import driver_classpath_or_skip
from tests.topologies.oracle import JavaOracle


@pytest.fixture(scope="session")
def java_oracle() -> Iterator[JavaOracle]:
    """Java's TopologyTestDriver, in one JVM for the whole run."""
    with JavaOracle(driver_classpath_or_skip()) as oracle:
        yield oracle
