"""Applications that restore windows on the embedded broker."""

from datetime import timedelta
from pathlib import Path

from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.tls import ServerTls
from kafka_groups.streams import (
    AsyncKafkaStreams,
    SourceRecord,
    StateRestoreListener,
    StreamsBuilder,
    TimeWindows,
    Topology,
    serdes,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.types import TopicPartition
from tests.support.certificates import Certificates
from tests.support.conditions import until

WAIT_S = 60
HOUR_MS = 3_600_000
LOGGED = TopicPartition("hours-per-hour-changelog", 0)


class Noting(StateRestoreListener):
    """Notes where restorations begin and end."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        self.told.append((partition, store, starting_offset, ending_offset))

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        self.told.append((partition, store, total_restored))


def time_in_value(record: SourceRecord, _partition_time_ms: int) -> int:
    return int(str(record.value))


def per_hour() -> Topology:
    builder = StreamsBuilder()
    times = builder.stream("times", key=serdes.string, value=serdes.string, timestamp=time_in_value)
    times.group_by_key().windowed_by(TimeWindows(timedelta(hours=1), grace=timedelta(0))).count(store="per-hour")
    return builder.build()


def application(cluster: EmbeddedCluster, listener: StateRestoreListener) -> AsyncKafkaStreams:
    return AsyncKafkaStreams(
        per_hour,
        application_id="hours",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        state_restore_listener=listener,
    )


async def test_a_listener_hears_that_expired_windows_are_not_restored() -> None:
    settings = {**FAST_SETTINGS, "group.streams.heartbeat.interval.ms": 100}
    now_ms, first, second = SystemClock().wall_ms(), Noting(), Noting()
    with EmbeddedCluster(settings=settings) as cluster:
        cluster.create_topic("times")
        cluster.produce("times", [str(now_ms - age * HOUR_MS) for age in range(10, -1, -1)], keys=["k"] * 11)
        async with application(cluster, first) as app:
            await app.wait_until_running(WAIT_S)

            async def logged() -> int:
                return len(cluster.records(LOGGED.topic))

            await until(logged, lambda count: count == 11, WAIT_S)
        async with application(cluster, second) as app:
            await app.wait_until_running(WAIT_S)
    assert first.told == [(LOGGED, "per-hour", 0, 0), (LOGGED, "per-hour", 0)]
    assert second.told == [(LOGGED, "per-hour", 8, 11), (LOGGED, "per-hour", 3)], "two hours and a half of records"


def totals() -> Topology:
    builder = StreamsBuilder()
    numbers = builder.stream("numbers", key=serdes.string, value=serdes.string)
    counted = numbers.group_by_key().count(store="totals", caching=False)
    counted.to_stream().to("counted", key=serdes.string, value=serdes.int64)
    return builder.build()


async def test_a_compacted_changelog_is_restored_from_what_is_left() -> None:
    settings = {**FAST_SETTINGS, "group.streams.heartbeat.interval.ms": 100}
    keys = ["a", "b", "c"]

    def run(cluster: EmbeddedCluster, listener: StateRestoreListener) -> AsyncKafkaStreams:
        return AsyncKafkaStreams(
            totals,
            application_id="app",
            bootstrap_servers=cluster.bootstrap_servers,
            commit_interval_ms=100,
            state_restore_listener=listener,
        )

    with EmbeddedCluster(settings=settings) as cluster:
        for topic in ("numbers", "counted"):
            cluster.create_topic(topic)

        changelog = "app-totals-changelog"

        async def count_to(total: int) -> None:
            async def logged() -> list[int]:
                return [int.from_bytes(record.value or b"", "big") for record in cluster.records(changelog)]

            cluster.produce("numbers", ["1"] * len(keys), keys=keys)
            await until(logged, lambda found: found[-3:] == [total] * 3, WAIT_S)

        async with run(cluster, Noting()) as app:
            await app.wait_until_running(WAIT_S)
            for total in range(1, 11):  # a commit writes the last value of each key
                await count_to(total)
        assert len(cluster.records(changelog)) == 30
        [cleaned] = [each for each in cluster.run_log_cleaner(roll_segments=True) if each.partition.topic == changelog]
        assert cleaned.bytes_after < cleaned.bytes_before / 5
        assert [record.offset for record in cluster.records(changelog)] == [27, 28, 29]
        again = Noting()
        async with run(cluster, again) as app:
            await app.wait_until_running(WAIT_S)
            await count_to(11)
    partition = TopicPartition(changelog, 0)
    assert again.told == [(partition, "totals", 0, 30), (partition, "totals", 3)]


async def test_stores_are_restored_over_tls_by_an_authenticated_client(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    security = BrokerSecurity(
        mechanisms=("SCRAM-SHA-256",),
        users={"ann": "secret"},
        tls=ServerTls(certificate_location=certificates.server),
    )
    settings = {**FAST_SETTINGS, "group.streams.heartbeat.interval.ms": 100}

    def run(cluster: EmbeddedCluster, listener: StateRestoreListener) -> AsyncKafkaStreams:
        return AsyncKafkaStreams(
            totals,
            {"restore.consumer.fetch.min.bytes": 1},
            application_id="safe",
            bootstrap_servers=cluster.bootstrap_servers,
            commit_interval_ms=100,
            state_restore_listener=listener,
            security_protocol="SASL_SSL",
            ssl_ca_location=certificates.ca,
            sasl_mechanism="SCRAM-SHA-256",
            sasl_username="ann",
            sasl_password="secret",
        )

    with EmbeddedCluster(settings=settings, security=security) as cluster:
        for topic in ("numbers", "counted"):
            cluster.create_topic(topic)
        cluster.produce("numbers", ["1"] * 5, keys=list("abcde"))

        async def logged() -> int:
            return len(cluster.records("safe-totals-changelog"))

        async with run(cluster, Noting()) as app:
            await app.wait_until_running(WAIT_S)
            await until(logged, lambda count: count == 5, WAIT_S)
        again = Noting()
        async with run(cluster, again) as app:
            await app.wait_until_running(WAIT_S)
    partition = TopicPartition("safe-totals-changelog", 0)
    assert again.told == [(partition, "totals", 0, 5), (partition, "totals", 5)]
