"""An application of Kafka Streams 4.3.1 in a streams group: word count, with a repartition topic and a changelog.

At least once, a line may be processed again after a crash. The application keeps the ids of a word's lines and not
their number, so that the counts are exact all the same once it has caught up. Exactly once, there is one update for
each word.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS, THREADS, WordCount
from tests.support.members.confluent_reader import PATIENCE_S

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture
def words(tmp_path: Path) -> Iterator[WordCount]:
    """The application, on an embedded broker over TCP."""
    settings = {**SETTINGS, "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}
    with EmbeddedCluster(settings=settings) as cluster:
        application = WordCount(cluster.bootstrap_servers, tmp_path)
        yield application
        application.end()
        assert cluster.unexpected_errors == ()


def test_words_are_counted_exactly_though_an_instance_is_killed(words: WordCount) -> None:
    words.write(40)
    words.start("alpha")
    wait_until(words.is_balanced, PATIENCE_S)
    words.start("beta")
    wait_until(words.is_balanced, PATIENCE_S)
    words.wait_for_counts()
    shown = words.group()
    assert shown.state == "Stable"
    assert len(shown.members) == 2 * THREADS
    assert shown.topology is not None
    assert shown.topology.repartition_topics == {f"{words.application_id}-words-repartition"}
    assert shown.topology.changelog_topics == {f"{words.application_id}-lines-changelog"}

    words.write(2_000)
    words.kill("alpha")
    wait_until(words.is_balanced, PATIENCE_S)
    words.write(40)
    words.wait_for_counts()
    assert len(words.group().members) == THREADS

    words.start("alpha")
    wait_until(words.is_balanced, PATIENCE_S)
    words.write(40)
    words.wait_for_counts()

    words.close("alpha")
    words.close("beta")
    assert (words.group().state, words.group().members) == ("Empty", ())


def test_an_application_moves_from_a_classic_group_and_processes_each_line_once(words: WordCount) -> None:
    words.write(40)
    words.start("alpha", "classic")
    words.wait_for_counts()
    assert not words.is_streams_group()
    words.close("alpha")
    wait_until(lambda: not words.has_members(), PATIENCE_S)

    words.write(40)
    words.start("alpha")
    words.start("beta")
    wait_until(words.is_balanced, PATIENCE_S)
    assert words.is_streams_group()
    words.write(40)
    assert words.wait_for_counts() == words.updates
    words.close("alpha")
    words.close("beta")
    assert words.group().state == "Empty"


@pytest.mark.parametrize("protocol", ["streams", pytest.param("classic", marks=pytest.mark.long)])
def test_each_word_is_counted_exactly_once_though_an_instance_is_killed(words: WordCount, protocol: str) -> None:
    words.write(40)
    words.start("alpha", protocol, exactly_once=True)
    words.start("beta", protocol, exactly_once=True)
    wait_until(words.is_balanced, PATIENCE_S)
    assert words.wait_for_counts() == words.updates

    words.write(2_000)
    words.kill("alpha")
    wait_until(words.is_balanced, PATIENCE_S)
    words.write(40)
    assert words.wait_for_counts() == words.updates
    words.close("beta")
