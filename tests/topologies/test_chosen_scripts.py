"""Java and Python agree about scripts that random ones seldom meet: the bounds of times."""

import pytest

from tests.topologies.catalogue import TWINS
from tests.topologies.oracle import CACHED, UNCACHED, JavaOracle
from tests.topologies.scripts import Pipe, Script
from tests.topologies.twin_runs import differences, run_twin

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]


def of(topic: str, *times_ms: int) -> Script:
    """Records of one key at some times."""
    return [Pipe(topic, b"a", b"apple", time_ms) for time_ms in times_ms]


def gone(topic: str = "in") -> Script:
    """A value, and an earlier one with which the result is null."""
    return [Pipe(topic, b"a", b"ab", 60), Pipe(topic, b"a", b"bad", 50), Pipe(topic, b"a", b"b", 40)]


@pytest.mark.parametrize("is_cached", [False, True], ids=["uncached", "cached"])
@pytest.mark.parametrize(
    ("name", "script"),
    [
        # The record's own windows have closed; the one that begins just after it has not.
        pytest.param("sliding_aggregate", of("in", 9150, 9271, 9100), id="sliding-late-by-1"),
        pytest.param("sliding_aggregate", of("in", 9150, 9271, 9101), id="sliding-in-time"),
        pytest.param("sliding_on_close", of("in", 9150, 9271, 9100, 9300), id="sliding-on-close-late-by-1"),
        pytest.param("sliding_aggregate", of("in", 60, 231, 60, 59), id="sliding-early"),
        # The tombstone has the time of the record that made it, in changelogs and behind caches.
        *(
            pytest.param(name, gone(), id=name)
            for name in ("null_reduce", "aggregate_to_null", "null_tumbling", "null_sliding", "null_session")
        ),
        pytest.param("null_reduce_of_table", gone("table"), id="null_reduce_of_table"),
    ],
)
def test_java_and_python_agree(java_oracle: JavaOracle, name: str, script: Script, *, is_cached: bool) -> None:
    java = java_oracle.run(name, script, CACHED if is_cached else UNCACHED)
    assert differences(java, run_twin(TWINS[name], script, is_cached=is_cached)) == []
