"""Random topologies are described as in Java: nodes and their neighbours have the same order."""

import random

import pytest

from kafka_groups.streams import Topology
from tests.topologies.catalogue.functions import TEXT
from tests.topologies.oracle import JavaOracle

FEW, MANY = 25, 400

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]

Shape = list[tuple[str, list[str]]]


def random_shape(rng: random.Random) -> Shape:
    """The nodes with their parents. The first one is the source."""
    shape: Shape = [(f"KSTREAM-SOURCE-{0:010}", [])]
    for number in range(1, rng.randint(3, 16)):
        word = rng.choice(("FILTER", "MAPVALUES", "MERGE", "KEY-SELECT", "PEEK"))
        above = [name for name, _ in shape]
        parents = rng.sample(above, min(len(above), rng.choice((1, 1, 1, 1, 2, 3))))
        shape.append((f"KSTREAM-{word}-{number:010}", parents))
    return shape


def built(shape: Shape) -> Topology:
    topology = Topology()
    for name, parents in shape:
        if parents:
            topology.add_processor(name, lambda record: [record], parents=parents)
        else:
            topology.add_source(name, "in", key=TEXT, value=TEXT)
    return topology


def test_they_are_described_as_in_java(java_oracle: JavaOracle, request: pytest.FixtureRequest) -> None:
    rng = random.Random(1)
    for _ in range(MANY if request.config.getoption("--long") else FEW):
        shape = random_shape(rng)
        written = " ".join("<".join((name, ",".join(parents))) if parents else name for name, parents in shape)
        assert built(shape).describe() == java_oracle.describe(written).text, written
