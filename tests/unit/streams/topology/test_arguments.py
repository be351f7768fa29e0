"""Lists of names and stores."""

from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology, stores

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


def test_one_store_is_not_a_list_of_stores() -> None:
    stream = StreamsBuilder().stream("in", key=TEXT, value=TEXT)
    topology = Topology().add_source("in", "in", key=TEXT, value=TEXT)
    given: Any
    for given in ("seen", SEEN):
        with pytest.raises(TypeError, match=r"^process: stores=.* is one store. .*stores=\(…,\)"):
            stream.process(max, stores=given)
        with pytest.raises(TypeError, match=r"^process_values: stores=.* is one store"):
            stream.process_values(max, stores=given)
        with pytest.raises(TypeError, match=r"^transform_values: stores=.* is one store"):
            stream.to_table().transform_values(max, stores=given)
        with pytest.raises(TypeError, match=r"^Processor 'one': stores=.* is one store"):
            topology.add_processor("one", max, parents=["in"], stores=given)
    given = [SEEN, 5]
    with pytest.raises(TypeError, match=r"^process: stores has 5, which is no store"):
        stream.process(max, stores=given)


def test_one_parent_is_not_a_list_of_parents() -> None:
    topology = Topology().add_source("in", "in", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"^Processor 'one': parents='in' is one name.*\['in'\]"):
        topology.add_processor("one", max, parents="in")
    with pytest.raises(TypeError, match=r"^Sink 'out': parents='in' is one name"):
        topology.add_sink("out", "out", parents="in", key=TEXT, value=TEXT)
    given: Any = [5]
    with pytest.raises(TypeError, match=r"^Sink 'out': parents has 5, which is not a name"):
        topology.add_sink("out", "out", parents=given, key=TEXT, value=TEXT)
