"""Topologies in Python look as Java's, and the same comes out of them: compared with the golden files."""

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import TopologyError
from tests.recording.java_topologies import read_topology
from tests.topologies.allowed import NOT_COMPARED, in_order, without_real_times
from tests.topologies.catalogue import TWINS
from tests.topologies.golden import golden_names, read_golden
from tests.topologies.twin_runs import differences, run_twin

REFUSED = {name for name in golden_names() if read_golden(name).refused}
BUILT = sorted(set(golden_names()) - REFUSED)


def test_every_topology_of_java_has_a_twin() -> None:
    assert sorted(TWINS) == golden_names()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_java_refuses_is_refused(name: str) -> None:
    with pytest.raises((TopologyError, ConfigurationError)):
        TWINS[name].build()


@pytest.mark.parametrize("name", BUILT)
def test_it_looks_the_same(name: str) -> None:
    description = read_golden(name).description
    assert description is not None
    topology = TWINS[name].build()
    assert topology.describe() == description.text
    if description.heartbeat is not None:
        sent = topology.group_topology("app").to_wire()
        assert in_order(sent) == in_order(read_topology(description.heartbeat))


@pytest.mark.parametrize("is_cached", [False, True], ids=["uncached", "cached"])
@pytest.mark.parametrize("name", BUILT)
def test_the_same_comes_out(name: str, is_cached: bool) -> None:
    golden = read_golden(name)
    java = golden.cached if is_cached else golden.uncached
    assert java is not None
    if (name, is_cached) in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name, is_cached])
    python = without_real_times(name, run_twin(TWINS[name], golden.script, is_cached=is_cached))
    assert differences(java, python) == []
