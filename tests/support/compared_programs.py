"""What applications write, compared record by record with what they should: the outcome that is computed."""

from kafka_groups.protocol.record_builder import NewRecord
from tests.support.application_programs import Guarantee, Names, Program, logs_of_run, new_names
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
    target: Target, program: Program, guarantee: Guarantee, names: Names | None = None
) -> dict[str, Log]:
    """Run a program, and compare all topics with those that are computed. Return them."""
    names = names or new_names()
    found, wanted = await logs_of_run(target, program, guarantee, names), computed_logs(program, names)
    for name, count in program.totals.items():
        assert sum(map(len, found[name])) == count, name
        # Partitions, keys, values, times and headers, and the order of each key.
        assert by_key(found[name]) == by_key(wanted[name]), name
    return found
