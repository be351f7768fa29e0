"""A topology is sent as Java sends it: the coordinator refuses members whose topologies differ in anything."""

import pytest

from tests.recording.java_topologies import BUILT, captured, read_topology

CAPTURED = captured()


@pytest.mark.parametrize("name", CAPTURED)
def test_a_topology_is_sent_as_java_sends_it(name: str) -> None:
    assert BUILT[name].to_wire() == read_topology(CAPTURED[name])


def test_all_that_is_built_was_captured() -> None:
    assert BUILT.keys() == CAPTURED.keys()
