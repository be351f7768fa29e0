"""Topologies that callers give for classic groups."""

import pytest

from kafka_groups.admin.rules.group_topology.given_topology import checked_topology
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import GroupTopology, StreamsBuilder, Subtopology, Topology, serdes


def test_a_topology_is_taken_as_its_group_has_it() -> None:
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string)
    lines.group_by(lambda _key, line: line, key=serdes.string).count(store="counts")
    topology = builder.build()
    found = checked_topology(topology, "words")
    assert found == topology.group_topology("words")
    assert checked_topology(found, "other") is found
    (changelog,) = found.subtopologies[1].changelogs
    assert changelog.name == "words-counts-changelog"


@pytest.mark.parametrize("given", ["app:build", StreamsBuilder(), Topology, GroupTopology, Subtopology, None, 7])
def test_something_else_is_refused(given: object) -> None:
    with pytest.raises(ConfigurationError, match=r"topology=.* is not a topology: give the Topology that Streams"):
        checked_topology(given, "words")
