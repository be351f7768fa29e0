"""An application that runs exactly once is struck while records flow: its committed results equal a computation.

Its blows are those of `test_killed_streams_applications`.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path

import pytest

from kafka_groups.admin import KafkaAdmin
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams import KafkaStreams, StreamsError
from kafka_groups.types import TopicPartition
from tests.integration.test_killed_streams_applications import PATIENCE_S, WORKERS, Broker, Struck, broker
from tests.support.conditions import wait_until
from tests.support.kafka.lost_markers import lost_markers, merged_transactions
from tests.support.members.counted_application import STORE, CountedApplication

__all__ = ["BROKERS", "broker", "stored", "sums", "unless_kafka_loses_markers", "where_wrong", "wrong_results"]

pytestmark = pytest.mark.slow

BROKERS = ("embedded", pytest.param("real", marks=pytest.mark.real_kafka))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_committed_results_equal_a_computation(broker: Broker, tmp_path: Path, seed: int) -> None:
    app = CountedApplication(broker.servers, tmp_path)
    app.write(40)
    struck = Struck(app, broker, app.instance(WORKERS).run)
    with unless_kafka_loses_markers(app, broker) if broker.is_real else nullcontext():
        struck.strike_all(random.Random(seed))
        with app.instance().made() as last:
            wait_until(
                lambda: sums(app) >= app.totals().total(), 2 * PATIENCE_S, lambda: (last.state, wrong_results(app))
            )
            assert not (wrong := where_wrong(app)), wrong
            wait_until(lambda: stored(last) == app.totals(), 2 * PATIENCE_S, lambda: (last.state, stored(last)))
        assert app.logged() == app.totals()


@contextmanager
def unless_kafka_loses_markers(app: CountedApplication, broker: Broker) -> Iterator[None]:
    """Skip the test if Kafka ended a transaction without its markers (see `lost_markers`), as far as that explains it.

    Results are missing after such a transaction. If its producer goes on, its next marker ends both, and so commits
    what was aborted and processed again: then words are counted twice. Nothing else is excused.
    """
    try:
        yield
    except AssertionError as error:
        if any(results != [*range(1, count + 1)][: len(results)] for count, results in wrong_results(app).values()):
            if merged := merged_transactions(app.servers, app.transactional_partitions()):
                pytest.skip(f"Kafka has lost a marker, and ended transactions together: {merged}")
            error.add_note(f"Lines that the test's producer has written more than once: {app.repeated_lines()}")
            raise
        lost = _lost_markers(app, error)
        if not lost:
            error.add_note(
                f"The end of Kafka's log, which may have stood still: {broker.log_tail and broker.log_tail()}"
            )
            raise
        pytest.skip(f"Kafka has ended a transaction without its markers in {', '.join(map(str, lost))}")


def _lost_markers(app: CountedApplication, error: AssertionError) -> list[TopicPartition]:
    """The partitions in which Kafka has lost markers. If there are none, the error says what is known instead."""
    try:
        partitions = app.transactional_partitions()
        with KafkaAdmin(bootstrap_servers=app.servers) as admin:
            if lost := lost_markers(admin, partitions):
                return lost
        error.add_note(f"Kafka has lost no marker. Ends of committed and of all records: {app.ends(partitions)}")
    except KafkaGroupsError as unanswered:  # no reason to hide what failed first
        error.add_note(f"Kafka does not tell whether it has lost markers: {unanswered!r}")
    return []


def stored(last: KafkaStreams) -> dict[str, int]:
    """The counts in the stores of an instance, as far as it has the tasks yet."""
    try:
        return dict(last.store(STORE).all())
    except StreamsError:
        return {}


def wrong_results(app: CountedApplication) -> dict[str, tuple[int, list[int]]]:
    """How often the words were written whose committed results are not 1, 2, 3 and so on, and these results."""
    committed, totals = app.committed_results(), app.totals()
    found = {word: (totals[word], committed.get(word, [])) for word in totals.keys() | committed.keys()}
    return {word: (count, results) for word, (count, results) in found.items() if results != [*range(1, count + 1)]}


def where_wrong(app: CountedApplication) -> dict[str, dict[str, object]]:
    """Return for each word with wrong results what is missing and repeated, and how often it was repartitioned.

    Records of the repartition topic that were processed may be deleted, so that number may be too low.
    """
    repartitioned = app.repartitioned()
    return {
        word: {
            "lines": count,
            "repartitioned": repartitioned[word],
            "missing": sorted({*range(1, count + 1)} - {*results}),
            "not in order": [pair for pair in pairwise(results) if pair[1] != pair[0] + 1],
            "last": results[-1:],
        }
        for word, (count, results) in wrong_results(app).items()
    }


def sums(app: CountedApplication) -> int:
    """How many results are committed."""
    return sum(map(len, app.committed_results().values()))
