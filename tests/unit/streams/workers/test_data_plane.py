import pytest

from kafka_groups.config.clients.streams import streams_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.data_plane import DATA_PLANE, engine_plane_config, takes_engine
from kafka_groups.streams.workers.restoring import RESTORE_PLANE
from tests.unit.streams.runtime.counting import counting

GIVEN: dict[str, object] = {"application.id": "app", "bootstrap.servers": "localhost:9092"}


def test_a_key_chooses_the_plane_and_is_taken_out() -> None:
    mapping: dict[str, object] = {**GIVEN, DATA_PLANE: "engine"}
    assert takes_engine(DATA_PLANE, mapping, "librdkafka")
    assert mapping == GIVEN
    assert not takes_engine(DATA_PLANE, mapping, "librdkafka")
    assert not takes_engine(DATA_PLANE, {DATA_PLANE: "librdkafka"}, "engine")


@pytest.mark.parametrize("key", [DATA_PLANE, RESTORE_PLANE])
def test_a_plane_that_does_not_exist_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key}='java' is invalid; allowed values are engine and librdkafka"):
        configured_application(counting(), {**GIVEN, key: "java"}, {}, RestoreListeners())


def test_an_application_has_the_plane_of_its_key() -> None:
    on_engine = configured_application(counting(), {**GIVEN, DATA_PLANE: "engine"}, {}, RestoreListeners())
    on_librdkafka = configured_application(counting(), {**GIVEN, DATA_PLANE: "librdkafka"}, {}, RestoreListeners())
    assert on_engine.engine_plane == engine_plane_config(on_engine.config)
    assert on_librdkafka.engine_plane is None


def test_readers_and_the_producer_have_their_keys() -> None:
    config = streams_config({
        **GIVEN,
        "consumer.fetch.min.bytes": 7,
        "main.consumer.fetch.min.bytes": 8,
        "restore.consumer.fetch.min.bytes": 9,
        "global.consumer.fetch.max.bytes": 5_000,
        "producer.linger.ms": 11,
    })  # fmt: skip
    found = engine_plane_config(config)
    assert found.connection is config
    assert (found.sources.fetch_min_bytes, found.sources.isolation_level) == (8, "read_uncommitted")
    assert (found.restorer.fetch_min_bytes, found.restorer.isolation_level) == (9, "read_committed")
    assert (found.restorer.fetch_max_bytes, found.producer.linger_ms) == (5_000, 11)


def test_a_key_without_meaning_is_refused_when_the_application_is_made() -> None:
    given = {**GIVEN, DATA_PLANE: "engine", "producer.delivery.timeout.ms": 5}
    with pytest.raises(ConfigurationError, match=r"producer\.delivery\.timeout\.ms"):
        configured_application(counting(), given, {}, RestoreListeners())
