"""Queries that fail, are stopped and are started again: good records do not use up their deliveries."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark.source.rules.offsets import SourceOffset
from tests.unit.spark.source.sparks_calls import SETTINGS, Json, Query, World, numbers

BACKOFF = {"backoffMs": 10}
"""The waits between runs are tested without a broker; here they only cost time."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


class Supervised:
    """A query that is started again when it fails; Spark's checkpoint is kept."""

    def __init__(self, world: World, *, poll_timeout_ms: int = 700) -> None:
        self.world = world
        self.poll_timeout_ms = poll_timeout_ms
        self.committed: Json | None = None
        self.unfinished: Json | None = None
        self.sunk: set[int] = set()

    def run(
        self,
        *,
        bad: frozenset[int] = frozenset(),
        is_sink_away: bool = False,
        works_for: int = 2_000,
        most_batches: int = 2_000,
    ) -> bool:
        """One run, until nothing is left, it was stopped after some batches, or a batch failed; whether none did."""
        with self.world.query(self.committed, pollTimeoutMs=self.poll_timeout_ms, **BACKOFF) as query:
            self.committed = self.committed or query.start
            self._replay(query)
            for _ in range(most_batches):
                end = query.latest()
                if end == query.start:
                    share = query.share
                    if share["resumes_in_ms"] == 0 and (share["failed_runs"] == 0 or share["lag"] == 0):
                        return True
                    continue
                self.unfinished = end
                came = set(numbers(query.read(end)))
                if came and (is_sink_away or works_for == 0 or came & bad):
                    return False
                works_for -= bool(came)
                self.sunk |= came
                self.unfinished, self.committed = None, end
                query.start = end
            return True

    def _replay(self, query: Query) -> None:
        """Spark asks for the records of the batch that it had not finished; they come later."""
        if self.unfinished is not None:
            assert query.source.payloads(query.start, self.unfinished) == []
            query.start = self.committed = self.unfinished
            self.unfinished = None


def test_a_run_that_is_stopped_after_failed_ones_loses_nothing(cluster: EmbeddedCluster) -> None:
    world = World(cluster, partitions=1)
    world.produce(range(500))
    query = Supervised(world)
    for _ in range(4):
        assert not query.run(is_sink_away=True)
    for stopped_after in (0, 1, 3):
        query.run(most_batches=stopped_after)
    query.run()
    assert query.sunk == set(range(500))


@pytest.mark.parametrize("limit", [2, *(pytest.param(limit, marks=pytest.mark.slow) for limit in (3, 5))])
def test_an_outage_of_any_number_of_runs_loses_nothing_and_ends_by_itself(cluster: EmbeddedCluster, limit: int) -> None:
    world = World(cluster, {"share.delivery.count.limit": str(limit)}, partitions=1)
    world.produce(range(500))
    query = Supervised(world)
    for number in range(14):
        assert not query.run(is_sink_away=True)
        if number % 3 == 1:  # `query.stop()` while the next run waits, once or twice, at each point of the wait
            for stopped_after in range(number % 2 + 1):
                query.run(is_sink_away=True, most_batches=stopped_after)
    assert query.run()
    assert query.sunk == set(range(500))


@pytest.mark.parametrize("limit", [3, 5])
def test_what_an_earlier_run_stored_does_not_spend_a_last_delivery(cluster: EmbeddedCluster, limit: int) -> None:
    world = World(cluster, {"share.delivery.count.limit": str(limit)}, partitions=1)
    world.produce(range(60))
    query = Supervised(world)
    for _ in range(limit - 2):
        assert not query.run(is_sink_away=True)
    assert not query.run(works_for=1)
    assert query.sunk
    for _ in range(3):
        assert not query.run(is_sink_away=True)
    assert query.run()
    assert query.sunk == set(range(60))


@pytest.mark.parametrize(
    "bad", [{0, 49}, *(pytest.param(bad, marks=pytest.mark.slow) for bad in ({0}, {49}, {0, 1, 48, 49}))], ids=str
)
@pytest.mark.parametrize("limit", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_bad_records_are_not_mistaken_for_an_outage(cluster: EmbeddedCluster, limit: int, bad: set[int]) -> None:
    world = World(cluster, {"share.delivery.count.limit": str(limit)}, partitions=1)
    world.produce(range(50))
    query = Supervised(world)
    runs = 1
    while not query.run(bad=frozenset(bad)):
        runs += 1
        assert runs < 60
    assert query.sunk == set(range(50)) - bad


def test_an_operator_ends_the_wait_after_failed_runs(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    world = World(cluster, partitions=1)
    world.produce(range(5))
    mended = tmp_path / "mended"
    unfinished = {"v": 1, "seq": 3, "run": "another", "failures": 4, "deliveries": 1}
    with world.query(unfinished, goOnFile=str(mended), pollTimeoutMs=300) as query:
        assert query.source.payloads(SourceOffset(2, "another").to_json(), unfinished) == []
        query.start = query.latest()
        assert query.latest() == query.start
        assert query.share["resumes_in_ms"] > 100_000
        mended.touch()
        assert numbers(*query.batches(5)) == list(range(5))
        assert (query.share["resumes_in_ms"], query.share["failed_runs"]) == (0, 0)


@pytest.mark.parametrize("bad", [700, *(pytest.param(bad, marks=pytest.mark.slow) for bad in (0, 1_498))])
def test_one_bad_record_takes_no_good_one_with_it(cluster: EmbeddedCluster, bad: int) -> None:
    world = World(cluster)
    world.produce(range(1_499))
    query = Supervised(world)
    runs = 1
    while not query.run(bad=frozenset({bad})):
        runs += 1
        assert runs < 12
    assert query.sunk == set(range(1_499)) - {bad}
