import logging

import pytest

from kafka_groups.client.requests import Lane
from kafka_groups.config.clients.streams import streams_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.data_plane import DATA_PLANE
from kafka_groups.streams.workers.restoring import RESTORE_PLANE, restore_options
from tests.unit.streams.runtime.counting import counting

GIVEN: dict[str, object] = {"application.id": "app", "bootstrap.servers": "localhost:9092"}
OF_LIBRDKAFKA: dict[str, object] = {**GIVEN, DATA_PLANE: "librdkafka"}


def test_without_keys_it_has_the_defaults_and_a_connection_of_its_own() -> None:
    found = restore_options(streams_config(GIVEN))
    assert (found.limits.max_bytes, found.limits.buffer_bytes, found.limits.max_partition_bytes) == (
        16 << 20,
        32 << 20,
        1 << 20,
    )
    assert (found.limits.min_bytes, found.limits.max_wait_ms, found.check_crcs, found.rack) == (1, 500, True, "")
    assert (found.isolation_level, found.lane, found.request_timeout_ms) == (1, Lane.RESTORATION, 30_000)


def test_keys_of_all_consumers_and_of_its_own_count_by_both_names() -> None:
    found = restore_options(
        streams_config(
            {
                **GIVEN,
                "client.rack": "r1",
                "request.timeout.ms": 5_000,
                "consumer.fetch.min.bytes": 7,
                "consumer.fetch.wait.max.ms": "90",
                "consumer.isolation.level": "read_uncommitted",
                "restore.consumer.fetch.min.bytes": 8,
                "restore.consumer.fetch.message.max.bytes": 4_000,
                "restore.consumer.queued.max.messages.kbytes": 2,
                "restore.consumer.check.crcs": "False",
                "global.consumer.socket.timeout.ms": 6_000,
                "global.consumer.fetch.min.bytes": 9,
            }
        )
    )
    limits = found.limits
    assert (limits.min_bytes, limits.max_wait_ms, limits.max_partition_bytes) == (8, 90, 4_000)
    assert (limits.buffer_bytes, found.check_crcs, found.rack) == (2_048, False, "r1")
    assert (found.request_timeout_ms, found.isolation_level) == (6_000, 1)


def test_other_keys_of_its_own_are_refused_and_those_of_all_consumers_are_about_the_sources(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        restore_options(streams_config({**GIVEN, "consumer.queued.min.messages": 5}))
    assert "consumer.queued.min.messages has no effect on restoration" in caplog.text
    with pytest.raises(ConfigurationError, match=r"restore\.consumer\.debug has no meaning.*Remove it\. .*check\.crcs"):
        configured_application(counting(), {**OF_LIBRDKAFKA, "restore.consumer.debug": "all"}, {}, RestoreListeners())
    given = {**OF_LIBRDKAFKA, "restore.consumer.debug": "all", RESTORE_PLANE: "librdkafka"}
    found = configured_application(counting(), given, {}, RestoreListeners())
    assert found.restoring is None
    assert found.restore_consumer["debug"] == "all"


def test_a_wait_at_the_broker_is_shorter_than_the_timeout_of_requests() -> None:
    with pytest.raises(
        ConfigurationError, match=r"fetch\.max\.wait\.ms=5000 .* not below its request\.timeout\.ms=5000"
    ):
        restore_options(streams_config({**GIVEN, "request.timeout.ms": 5_000, "consumer.fetch.max.wait.ms": 5_000}))
    assert restore_options(streams_config({**GIVEN, "request.timeout.ms": 600})).limits.max_wait_ms == 300


@pytest.mark.parametrize(
    ("name", "value"),
    [("fetch.max.bytes", "much"), ("fetch.min.bytes", -1), ("max.partition.fetch.bytes", 0), ("check.crcs", 3)],
)
def test_an_invalid_value_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}={value!r} of a consumer is invalid"):
        restore_options(streams_config({**GIVEN, f"restore.consumer.{name}": value}))


def test_the_plane_is_chosen_by_a_key_and_a_wrong_one_is_refused() -> None:
    for keys, is_there in (({}, True), ({RESTORE_PLANE: "librdkafka"}, False), ({RESTORE_PLANE: "engine"}, True)):
        found = configured_application(counting(), {**OF_LIBRDKAFKA, **keys}, {}, RestoreListeners())
        assert (found.restoring is not None) is is_there
    whole = configured_application(counting(), {**GIVEN, DATA_PLANE: "engine"}, {}, RestoreListeners())
    assert whole.restoring is None
    with pytest.raises(
        ConfigurationError, match=r"internal\.restore\.plane='java' is invalid; allowed values are engine"
    ):
        configured_application(counting(), {**OF_LIBRDKAFKA, RESTORE_PLANE: "java"}, {}, RestoreListeners())


def test_librdkafka_gets_no_keys_of_a_consumer_that_does_not_read() -> None:
    given = {**OF_LIBRDKAFKA, "restore.consumer.fetch.buffer.bytes": 9_000_000}
    found = configured_application(counting(), given, {}, RestoreListeners())
    assert found.restoring is not None
    assert found.restoring.limits.buffer_bytes == 9_000_000
    assert found.restore_consumer == {"bootstrap.servers": "localhost:9092", "isolation.level": "read_committed"}
