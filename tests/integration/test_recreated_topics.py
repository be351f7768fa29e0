"""Topics that are deleted and made again while an application reads them, on our own engine and the embedded broker."""

from pathlib import Path
from typing import Literal

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.end_txn import EndTxnRequest
from kafka_groups.streams import (
    InvalidStateStoreError,
    KafkaStreams,
    StreamsBuilder,
    StreamsState,
    Topology,
    serdes,
    stores,
)
from kafka_groups.testing import EmbeddedCluster
from tests.integration.test_streams_applications import FAST
from tests.support.conditions import wait_until

pytestmark = pytest.mark.slow

Guarantee = Literal["at_least_once", "exactly_once_v2"]
GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")


def copying() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).to("out")
    return builder.build()


def application(cluster: EmbeddedCluster, topology: Topology, guarantee: Guarantee) -> KafkaStreams:
    return KafkaStreams(
        topology,
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        processing_guarantee=guarantee,
    )


def numbered(prefix: str, count: int) -> list[bytes]:
    return [f"{prefix}{number}".encode() for number in range(count)]


def written(cluster: EmbeddedCluster) -> list[bytes | None]:
    return [each.value for each in cluster.records("out")]


def committed(cluster: EmbeddedCluster) -> int:
    """The offset that the group has for the source; below 0 if it has none."""
    given = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "app"}
    consumer = Consumer(given)
    try:
        (place,) = consumer.committed([TopicPartition("in", 0)], timeout=10)
    finally:
        consumer.close()
    return int(place.offset)


@pytest.mark.parametrize("is_made_at_once", [True, False])
def test_a_source_that_was_made_again_during_a_commit_is_read_whole(is_made_at_once: bool) -> None:
    is_away, ends = False, list[EndTxnRequest]()

    def note(request: EndTxnRequest) -> bool:
        ends.append(request)
        return False

    with EmbeddedCluster(settings=FAST) as cluster:
        cluster.faults.on(ApiKey.END_TXN, DROP_CONNECTION, when=note)
        commits = cluster.faults.on(ApiKey.TXN_OFFSET_COMMIT, DROP_CONNECTION, when=lambda _: is_away)
        cluster.create_topic("in")
        cluster.create_topic("out")
        with application(cluster, copying(), "exactly_once_v2") as app:
            cluster.produce("in", numbered("old", 10), keys=[b"k"] * 10)
            wait_until(lambda: committed(cluster) == 10, 60, lambda: written(cluster))
            is_away = True
            cluster.produce("in", numbered("lost", 10), keys=[b"k"] * 10)
            wait_until(lambda: commits.hits > 0, 60)
            ends.clear()
            cluster.delete_topic("in")
            if not is_made_at_once:
                is_away = False
                wait_until(lambda: bool(ends), 60)
            cluster.create_topic("in")
            cluster.produce("in", numbered("new", 30), keys=[b"k"] * 30)
            is_away = False
            wait_until(
                lambda: written(cluster)[-1:] == [b"new29"], 60, lambda: (written(cluster), app.state, app.error)
            )
            wait_until(lambda: committed(cluster) == 30, 60)
            assert app.error is None
            # A task that begins at the old offset in the new topic would skip records.
            assert not ends[0].committed
        new = [each for each in written(cluster) if each is not None and each.startswith(b"new")]
        assert new[-30:] == numbered("new", 30)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_source_that_was_made_again_is_read_whole(guarantee: Guarantee) -> None:
    with EmbeddedCluster(settings=FAST) as cluster:
        cluster.create_topic("in")
        cluster.create_topic("out")
        with application(cluster, copying(), guarantee) as app:
            cluster.produce("in", numbered("old", 10), keys=[b"k"] * 10)
            wait_until(lambda: committed(cluster) == 10, 60, lambda: written(cluster))
            cluster.delete_topic("in")
            cluster.create_topic("in")
            cluster.produce("in", numbered("new", 30), keys=[b"k"] * 30)
            wait_until(lambda: len(written(cluster)) >= 40, 60, lambda: (written(cluster), app.state, app.error))
            wait_until(lambda: app.state is StreamsState.RUNNING, 60)
        assert written(cluster) == [*numbered("old", 10), *numbered("new", 30)]


STORE, CHANGELOG = "counts", "app-counts-changelog"


def counting() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", key=serdes.string, value=serdes.string)
    words.group_by_key().count(store=stores.key_value(STORE, serdes.string, serdes.int64))
    return builder.build()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_changelog_that_was_made_again_while_nothing_ran_and_has_grown_past_the_position_is_restored(
    guarantee: Guarantee, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def kept() -> KafkaStreams:
        return KafkaStreams(
            counting(), application_id="app", bootstrap_servers=cluster.bootstrap_servers, commit_interval_ms=100,
            processing_guarantee=guarantee, state_dir=str(tmp_path), default_dsl_store="lmdb",
        )  # fmt: skip

    def rows() -> dict[str, int]:
        try:
            return dict(app.store(STORE).all())
        except InvalidStateStoreError:  # it is being restored
            return {}

    def again(expected: dict[str, int]) -> None:
        wait_until(lambda: app.state is StreamsState.RUNNING and rows() == expected, 60, lambda: (app.state, app.error))

    with EmbeddedCluster(settings=FAST) as cluster:
        cluster.create_topic("in")
        with kept() as app:
            cluster.produce("in", numbered("v", 5), keys=numbered("old", 5))
            again({f"old{number}": 1 for number in range(5)})
        with kept() as app:
            again({f"old{number}": 1 for number in range(5)})
        assert "created again" not in caplog.text
        configs = {"cleanup.policy": "compact"}
        cluster.delete_topic(CHANGELOG)
        cluster.create_topic(CHANGELOG, configs=configs)
        new = numbered("new", 50)  # more than there were, with markers of transactions
        cluster.produce(CHANGELOG, [(7).to_bytes(8, "big")] * len(new), keys=new)
        with kept() as app:
            again({key.decode(): 7 for key in new})
            cluster.produce("in", [b"v"], keys=[b"new3"])
            again({**{key.decode(): 7 for key in new}, "new3": 8})
    assert caplog.text.count(f"{CHANGELOG} was deleted and created again since task 0_0 has stored its rows.") == 1
