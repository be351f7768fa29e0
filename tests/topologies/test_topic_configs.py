"""`topic.*` configures internal topics as in Java."""

import pytest

from kafka_groups.streams.topology.internal_topics import group_topology
from tests.recording.java_topologies import read_topology
from tests.topologies.allowed import in_order
from tests.topologies.catalogue import TWINS
from tests.topologies.oracle import JavaOracle

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]

GIVEN = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",
    "min.compaction.lag.ms": "3",
    "min.insync.replicas": "2",
    "retention.ms": "7",
    "segment.bytes": "9",
}


@pytest.mark.parametrize(
    "name",
    [
        "words_count",
        "stream_join_repartitioned",
        "session_count",
        "suppress_tumbling",
        "process_window_store",
        "versioned_table",
    ],
)
def test_the_group_gets_the_same_configs(java_oracle: JavaOracle, name: str) -> None:
    given = {f"topic.{key}": value for key, value in GIVEN.items()}
    heartbeat = java_oracle.describe(name, given).heartbeat
    assert heartbeat is not None
    sent = group_topology(TWINS[name].build().graph, "app", GIVEN).to_wire()
    assert in_order(sent) == in_order(read_topology(heartbeat))
