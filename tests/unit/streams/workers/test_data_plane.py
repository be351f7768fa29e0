import pytest

from kafka_groups.config.clients.streams import streams_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import ConfigurationError
from kafka_groups.records.engine_plane import EnginePlaneConfig
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.data_plane import engine_plane_config
from tests.unit.config.records.client_keys import ALWAYS, keys_of
from tests.unit.streams.runtime.counting import counting

GIVEN: dict[str, object] = {"application.id": "app", "bootstrap.servers": "localhost:9092"}


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
    given = {**GIVEN, "producer.delivery.timeout.ms": 5}
    with pytest.raises(ConfigurationError, match=r"producer\.delivery\.timeout\.ms"):
        configured_application(counting(), given, {}, RestoreListeners())


PREFIXES = ("producer", "consumer", "main.consumer", "restore.consumer", "global.consumer")
NEEDED: dict[str, dict[str, object]] = {"compression.level": {"producer.compression.type": "zstd"}}


def plane_with(**given: object) -> EnginePlaneConfig:
    found = configured_application(counting(), {**GIVEN, **given}, {}, RestoreListeners())
    return found.engine_plane


def clients(plane: EnginePlaneConfig, prefix: str) -> list[ProducerConfig | ReaderConfig]:
    of_prefix: dict[str, list[ProducerConfig | ReaderConfig]] = {
        "producer": [plane.producer],
        "consumer": [plane.sources, plane.restorer],
        "main.consumer": [plane.sources],
    }
    return of_prefix.get(prefix, [plane.restorer])


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_key_of_our_own_readers_and_producer_reaches_the_plane(prefix: str) -> None:
    for name, attribute, given, value in keys_of(prefix.rpartition(".")[2]):
        if name == "isolation.level":
            continue
        plane = plane_with(**{f"{prefix}.{name}": given}, **NEEDED.get(name, {}))
        assert [getattr(each, attribute) for each in clients(plane, prefix)] == [value] * len(clients(plane, prefix)), (
            name
        )


def test_the_isolation_level_is_that_of_the_sources() -> None:
    for prefix in ("consumer", "main.consumer"):
        plane = plane_with(**{f"{prefix}.isolation.level": "read_committed"})
        assert plane.sources.isolation_level == "read_committed"
    for prefix in ("restore.consumer", "global.consumer"):
        with pytest.raises(ConfigurationError, match=rf"{prefix}\.isolation\.level can't be set, as only committed"):
            plane_with(**{f"{prefix}.isolation.level": "read_committed"})


@pytest.mark.parametrize("prefix", PREFIXES)
def test_keys_that_are_always_so_may_be_given_and_no_other_value(prefix: str) -> None:
    for name, value in ALWAYS[prefix.rpartition(".")[2]].items():
        assert plane_with(**{f"{prefix}.{name}": value}).producer == ProducerConfig()
        with pytest.raises(ConfigurationError, match=rf"Invalid value '5' for {prefix}\.{name}: .*or omit the key"):
            plane_with(**{f"{prefix}.{name}": "5"})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"producer.transactional.id": "a"}, "Remove it, and set processing.guarantee."),
        ({"producer": {"partitioner.class": "a"}}, "'producer.partitioner.class' .* Remove it, and give partitioner="),
        ({"main.consumer.ssl.ca.location": "a"}, "'main.consumer.ssl.ca.location' .* Write it without prefix."),
        ({"consumer.error_cb": print}, "Remove it, and set uncaught_exception_handler."),
        ({"consumer.auto.offset.reset": "latest"}, "it is a key of the application. Write it without prefix."),
        ({"producer.client.id": "a"}, "Write it without prefix: client.id."),
        ({"producer.sasl.password": "swordfish"}, r"'producer.sasl.password' \(a hidden value\)"),
    ],
)
def test_keys_that_are_refused_have_the_remedies_of_this_plane(given: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as caught:
        plane_with(**given)
    assert "swordfish" not in str(caught.value)


def test_metadata_is_as_young_as_any_client_of_the_plane_wants_it() -> None:
    ages: dict[str, object] = {
        "metadata.max.age.ms": 9_000,
        "producer.metadata.max.age.ms": 8_000,
        "consumer.metadata.max.age.ms": 10_000,
        "main.consumer.metadata.max.age.ms": 7_000,
        "restore.consumer.metadata.max.age.ms": 6_000,
    }
    assert [plane_with(**dict(list(ages.items())[:count])).metadata_max_age_ms for count in range(6)] == [
        300_000, 9_000, 8_000, 8_000, 7_000, 6_000,
    ]  # fmt: skip


def test_a_transaction_may_last_until_its_commit() -> None:
    twice: dict[str, object] = {"processing.guarantee": "exactly_once_v2"}
    assert plane_with(**twice).producer.transaction_timeout_ms == 10_000
    plane_with(**twice, **{"commit.interval.ms": 10_000})
    plane_with(**{"commit.interval.ms": 10_001})  # without transactions
    with pytest.raises(ConfigurationError) as caught:
        plane_with(**twice, **{"commit.interval.ms": 10_001})
    assert str(caught.value) == (
        "commit.interval.ms=10001 is longer than producer.transaction.timeout.ms=10000, so the brokers would abort "
        "transactions before their commit. Use a smaller commit.interval.ms or a larger "
        "producer.transaction.timeout.ms."
    )
    plane_with(**twice, **{"commit.interval.ms": 10_001, "producer.transaction.timeout.ms": 10_001})
    with pytest.raises(ConfigurationError, match=r"commit\.interval\.ms=100 .* producer\.transaction\.timeout\.ms=99,"):
        plane_with(**twice, **{"producer.transaction.timeout.ms": 99})


@pytest.mark.parametrize(
    ("given", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "SSL"}, "User:ANONYMOUS"),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "ann",
                "sasl.password": "x",
            },
            "User:ann",
        ),
    ],
)
def test_messages_about_rights_name_the_user_that_brokers_know(given: dict[str, object], principal: str | None) -> None:
    assert plane_with(**given).principal == principal
