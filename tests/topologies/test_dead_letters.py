"""Dead letters are those of Kafka Streams: from the same records, with the same bytes, times and headers."""

from collections.abc import Iterable

import pytest
from attrs import evolve

from tests.topologies.catalogue import TWINS
from tests.topologies.oracle import UNCACHED, JavaOracle
from tests.topologies.scripts import Output, Pipe, encoded
from tests.topologies.twin_runs import run_twin

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]

DEAD = "dead"
CONFIG = {**UNCACHED, "errors.dead.letter.queue.topic.name": DEAD}
"""Java's handlers that log and continue write dead letters if there is a topic for them."""

PREFIX = "__streams.errors."
OF_THE_LANGUAGE = (f"{PREFIX}exception", f"{PREFIX}stacktrace")
"""Headers with names of classes and places in code, which cannot be the same."""

SENT = (("trace", b"7"), ("none", None))


def pipes(topic: str, *values: bytes | None) -> list[Pipe]:
    return [Pipe(topic, b"k%d" % number, value, 1_000 + number, SENT) for number, value in enumerate(values)]


SCRIPTS = {
    "fails_and_goes_on": pipes("in", b"a", b"bad", b"c", b"bad"),
    "fails_among_words": pipes("in", b"a bad b", b"bad bad"),
    "fails_in_aggregator": pipes("in", b"a", b"bad"),
    "fails_behind_aggregate": pipes("in", b"a", b"bad"),
    "fails_in_stream_join": [Pipe("left", b"k", b"bad", 10, SENT), Pipe("right", b"k", b"b", 11, SENT)],
    "fails_in_table_join": [Pipe("other-table", b"k", b"bad", 10, SENT), Pipe("table", b"k", b"b", 11, SENT)],
    "fails_in_table": pipes("table", b"a", b"bad"),
    "fails_behind_repartition": pipes("in", b"a", b"bad"),
    "fails_in_punctuation": pipes("in", b"a", b"bad", b"c"),
    "unreadable_skipped": pipes("numbers", encoded(3), b"seven", encoded(100), b"x"),
}


def comparable(name: str, letters: Iterable[Output]) -> list[Output]:
    """Letters of a topology, without what is said by one language or by its serde."""
    differ = (*OF_THE_LANGUAGE, f"{PREFIX}message") if name == "unreadable_skipped" else OF_THE_LANGUAGE
    return [
        evolve(
            letter,
            step=0,
            partition=None,
            headers=tuple((header, None if header in differ else value) for header, value in letter.headers),
        )
        for letter in letters
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_dead_letters_are_the_same(java_oracle: JavaOracle, name: str) -> None:
    javas = [each for each in java_oracle.run(name, SCRIPTS[name], CONFIG).outputs if each.topic == DEAD]
    run = run_twin(TWINS[name], SCRIPTS[name], is_cached=False, dead_letter_topic=DEAD)
    ours = [each for each in run.outputs if each.topic == DEAD]
    assert javas, "the script has records that fail"
    assert comparable(name, ours) == comparable(name, javas)
