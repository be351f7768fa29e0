"""Which runs may differ from those of Java's driver, and why. `test_allowed_differences.py` shows how."""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from tests.topologies.golden import REAL_CLOCK
from tests.topologies.scripts import Run

__all__ = ["NOT_COMPARED", "in_order", "without_real_times"]

_LOST = "A store in memory without a cache drops windows before Java emits them, if a record makes time jump."
_KEPT = "Java's caches still find sessions and windows that their store has dropped; ours expire them."

NOT_COMPARED: Mapping[tuple[str, bool], str] = MappingProxyType(
    {("tumbling_on_close_unkept", False): _LOST}
    | {
        (name, True): _KEPT
        for name in (
            "cogroup_session", "cogroup_tumbling", "session_aggregate", "session_count", "session_reduce",
            "session_table_grouped", "words_session",
        )
    }
)  # fmt: skip
"""Why a topology's runs without caches (False) or with caches (True) are not compared."""


def without_real_times(name: str, run: Run) -> Run:
    """A run without its times if Java takes them from the system's clock."""
    if name not in REAL_CLOCK:
        return run
    return evolve(run, outputs=tuple(evolve(each, timestamp_ms=None) for each in run.outputs))


def in_order(topology: StreamsGroupHeartbeatTopology) -> StreamsGroupHeartbeatTopology:
    """A topology whose copartition groups are sorted: Java sends a group in the order of a hash set."""
    return evolve(
        topology,
        subtopologies=tuple(
            evolve(
                part,
                copartition_groups=tuple(
                    evolve(
                        group,
                        source_topics=tuple(sorted(group.source_topics)),
                        repartition_source_topics=tuple(sorted(group.repartition_source_topics)),
                    )
                    for group in part.copartition_groups
                ),
            )
            for part in topology.subtopologies
        ),
    )
