"""What builders can optimize: source topics as changelogs. (Merged topics have tests of their own.)"""

from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import Optimization, StreamsBuilder, Topology, stores
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
ROWS = stores.key_value("rows", TEXT, TEXT)


def build(optimization: Optimization, store: Any = ROWS) -> Topology:
    builder = StreamsBuilder(optimization=optimization)
    rows = builder.table("table", key=TEXT, value=TEXT, store=store)
    rows.filter(lambda _, value: value != "x", store="filtered")
    return builder.build()


def changelogs(topology: Topology) -> list[str]:
    (part,) = topology.group_topology("app").subtopologies
    return sorted(topic.name for topic in part.changelogs)


def test_a_table_is_restored_from_its_topic_if_asked_for() -> None:
    assert changelogs(build(Optimization.NONE)) == ["app-filtered-changelog", "app-rows-changelog"]
    topology = build(Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
    assert changelogs(topology) == ["app-filtered-changelog", "table"]
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("table", TEXT, TEXT).pipe("k", "v", timestamp_ms=5)
        assert driver.records("test-rows-changelog") == ()
        driver.restart()
        assert driver.store(ROWS).get("k") == "v"


def test_a_store_without_a_changelog_gets_none() -> None:
    unlogged = stores.key_value("rows", TEXT, TEXT, changelog=False)
    assert changelogs(build(Optimization.ALL, unlogged)) == ["app-filtered-changelog"]


def test_a_table_without_a_store_gets_none() -> None:
    builder = StreamsBuilder(optimization=Optimization.ALL)
    builder.table("table", key=TEXT, value=TEXT).to_stream().to("out")
    assert changelogs(builder.build()) == []


def test_all_is_every_optimization_and_other_types_are_refused() -> None:
    every = Optimization.NONE
    for each in Optimization:
        every |= each
    assert every is Optimization.ALL
    given: Any
    for given in ("all", True, None):
        with pytest.raises(TypeError, match=rf"optimization={given!r} is not an Optimization.*Optimization\.ALL"):
            StreamsBuilder(optimization=given)
