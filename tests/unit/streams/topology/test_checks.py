"""Mistakes that show when all of a topology is there."""

from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KStream, KTable, Record, StreamsBuilder, Suppressed, Topology, TopologyError, stores
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[Any, Any]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def table(builder: StreamsBuilder, topic: str = "table") -> KTable[Any, Any]:
    return builder.table(topic, key=TEXT, value=TEXT)


def test_two_nodes_or_stores_of_one_name_are_refused() -> None:
    builder = StreamsBuilder()
    stream(builder).filter(max, name="same").filter(max, name="same")
    with pytest.raises(TopologyError, match=r"There are two nodes 'same'. Give each a name of its own"):
        builder.build()
    builder = StreamsBuilder()
    numbers = stream(builder).group_by_key()
    numbers.count(store="same")
    numbers.count(store="same")
    with pytest.raises(TopologyError, match=r"There are two stores 'same'.*stores=\('same',\)"):
        builder.build()


def joined(left: int | None, right: int | None) -> StreamsBuilder:
    builder = StreamsBuilder()
    stream(builder, "left").repartition(partitions=left, name="left").join(
        table(builder, "right").to_stream().repartition(partitions=right, name="right").to_table(), max
    )
    return builder


def test_streams_that_cannot_be_copartitioned_are_refused() -> None:
    with pytest.raises(TopologyError, match=r"left-repartition has 2 and right-repartition has 3.*`partitions=`"):
        joined(2, 3).build()


@pytest.mark.parametrize(("left", "right"), [(2, 2), (2, None), (None, None)])
def test_numbers_of_partitions_that_can_agree_are_accepted(left: int | None, right: int | None) -> None:
    joined(left, right).build()


def seeing(record: Record[Any, Any], _seen: Any) -> list[Record[Any, Any]]:
    return [record]


def test_processors_share_a_store_by_its_definition_or_name() -> None:
    builder = StreamsBuilder()
    one = stream(builder).process(seeing, stores=(SEEN,))
    one.process(seeing, stores=(SEEN,)).process(seeing, stores=("seen",))
    assert len(builder.build().graph.stores["seen"].users) == 3


def test_stores_that_nobody_uses_are_refused() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(SEEN)
    stream(builder).to("out")
    with pytest.raises(TopologyError, match=r"No processor is connected with the store 'seen'. Name it in `stores=`"):
        builder.build()
    topology = Topology().add_source("in", "in", key=TEXT, value=TEXT).add_state_store(SEEN)
    with pytest.raises(TopologyError, match="No processor is connected with the store 'seen'"):
        TopologyTestDriver(topology)
    with pytest.raises(TopologyError, match="No processor is connected with the store 'seen'"):
        topology.group_topology("app")


def test_stores_that_do_not_exist_are_refused() -> None:
    builder = StreamsBuilder()
    stream(builder).process(seeing, stores=("seen",), name="seeing")
    with pytest.raises(TopologyError, match=r"'seeing' uses the store 'seen', which does not exist. Add it first"):
        builder.build()


def copartitioned(left: int | None, right: int | None) -> StreamsBuilder:
    builder = StreamsBuilder()
    one = stream(builder).repartition(partitions=left, name="one")
    other = stream(builder, "others").repartition(partitions=right, name="other")
    one.join(other.to_table(), max, name="joining")
    return builder


def test_joins_of_topics_with_different_numbers_of_partitions_are_refused() -> None:
    with pytest.raises(TopologyError, match=r"one-repartition has 2 and other-repartition has 3.*the same"):
        copartitioned(2, 3).build()
    for left, right in ((2, 2), (2, None), (None, None)):
        copartitioned(left, right).build()


def test_numbers_of_partitions_are_compared_through_several_joins() -> None:
    builder = StreamsBuilder()
    one, two = (stream(builder, f"in-{n}").repartition(partitions=n, name=f"by-{n}", value=TEXT) for n in (2, 3))
    shared = table(builder)
    one.join(shared, max)
    two.join(shared, max)
    with pytest.raises(TopologyError, match="by-2-repartition has 2 and by-3-repartition has 3"):
        builder.build()


def with_suppressed_counts() -> Topology:
    builder = StreamsBuilder()
    letters = stream(builder, "other").select_key(lambda _, value: value[0], key=TEXT)
    counts = letters.group_by_key(name="letters").count(store="counts")
    held = counts.suppress(Suppressed.until_time_limit(timedelta(seconds=1)))
    stream(builder).join(held, "{}+{}".format, value=TEXT).to("out")
    return builder.build()


def test_brokers_are_not_told_of_sources_that_kafka_streams_forgets() -> None:
    topology = with_suppressed_counts()
    (told,) = topology.graph.told_copartitioned
    (needed,) = topology.graph.copartitioned
    assert set(needed) - set(told) == {"letters-repartition-source"}
    groups = [part.copartition_groups for part in topology.group_topology("app").subtopologies]
    assert sorted(map(len, groups)) == [0, 1]


def test_joined_topics_with_different_numbers_of_partitions_are_refused_although_brokers_accept_them() -> None:
    topology = with_suppressed_counts()
    TopologyTestDriver(topology, application_id="app", partitions={"in": 2, "other": 2}).close()
    with pytest.raises(
        TopologyError, match=r"app-letters-repartition has 1, in has 2\..* call repartition\(partitions=2\)"
    ):
        TopologyTestDriver(topology, application_id="app", partitions={"in": 2, "other": 1})
