"""What applications write, compared record by record with what they should: the outcome that is computed.

As long as there are two data planes, the topics of both are compared, too: librdkafka cannot write the time 0, so its
plane writes 1 ms.
"""

from collections.abc import Mapping

from kafka_groups.protocol.record_builder import NewRecord
from tests.support.application_programs import (
    ENGINE,
    LIBRDKAFKA,
    Guarantee,
    Names,
    Program,
    names_of_both,
    on_both_planes,
)
from tests.support.computed_logs import by_key, computed_logs
from tests.support.targets import Target
from tests.support.topic_reader import Log

__all__ = ["START_MS", "UNLIMITED", "assert_right", "lines"]

_HOUR_MS = 3_600_000
UNLIMITED = {"retention.ms": "-1"}
"""For changelogs of windows: a real Kafka deletes records that are older than the windows' retention."""

START_MS = 1_700_000_000_000 // _HOUR_MS * _HOUR_MS


def lines(count: int, keys: int) -> list[NewRecord]:
    """Records of some keys in turn, a minute from each to the next; each has a time of its own."""
    return [
        NewRecord(b"text %d" % at, b"key%d" % (at % keys), START_MS + at * 60_000, [("at", b"%d" % at)])
        for at in range(count)
    ]


async def assert_right(
    target: Target, program: Program, guarantee: Guarantee, names: Mapping[str, Names] | None = None
) -> dict[str, Log]:
    """Run a program on both planes, and compare all topics. Return those of our own engine."""
    names = names or names_of_both()
    found = await on_both_planes(target, program, guarantee, names)
    ours, theirs, wanted = found[ENGINE], found[LIBRDKAFKA], computed_logs(program, names[ENGINE])
    for name, count in program.totals.items():
        assert sum(map(len, ours[name])) == count, name
        # Partitions, keys, values, times and headers, and the order of each key.
        assert by_key(ours[name]) == by_key(wanted[name]), name
        assert by_key(theirs[name]) == by_key(_as_librdkafka_writes(ours[name])), name
        if program.is_ordered:
            assert theirs[name] == _as_librdkafka_writes(ours[name]), name
    return ours


def _as_librdkafka_writes(log: Log) -> Log:
    """Return a log with the times that librdkafka can write."""
    return [[(key, value, time_ms or 1, headers) for key, value, time_ms, headers in rows] for rows in log]
