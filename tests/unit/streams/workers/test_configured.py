"""The keys of an application as its workers and clients get them."""

import re
from datetime import timedelta

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import ErrorResponse, StreamsBuilder, TopologyError, serdes
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from kafka_groups.streams.workers.configured import configured_application
from tests.unit.streams.runtime.counting import counting

GIVEN = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1"}


def test_limits_are_those_that_were_given() -> None:
    keywords: dict[str, object] = {"statestore_uncommitted_max_bytes": 9}
    assert configured_application(counting(), GIVEN, keywords, RestoreListeners()).settings.uncommitted_max_bytes == 9
    keywords = {"commit_interval_ms": 7, "max_task_idle_ms": -1, "auto_offset_reset": "by_duration:PT1H"}
    settings = configured_application(counting(), GIVEN, keywords, RestoreListeners()).settings
    assert (settings.commit_interval_ms, settings.max_task_idle_ms) == (7, -1)
    assert settings.offset_reset == timedelta(hours=1)


def test_clients_get_their_own_keys_and_those_that_all_have() -> None:
    keywords = {"client_id": "me", "producer": {"linger.ms": 3}, "restore_consumer": {"fetch.min.bytes": 9}}
    plane = configured_application(counting(), GIVEN, keywords, RestoreListeners()).engine_plane
    assert plane.connection.client_id == "me"
    assert (plane.producer.linger_ms, plane.sources.fetch_min_bytes, plane.restorer.fetch_min_bytes) == (3, 1, 9)


def test_keys_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="commit_interval_ms"):
        configured_application(counting(), GIVEN, {"commit_interval_msec": 5}, RestoreListeners())


def test_static_processes_keep_their_id() -> None:
    def process_id(instance: str | None) -> str | None:
        keywords = {"group_instance_id": instance}
        return configured_application(counting(), GIVEN, keywords, RestoreListeners()).static_process_id

    assert process_id("a") == process_id("a") != process_id("b")
    assert process_id(None) is None


def test_records_are_measured_if_it_is_wanted() -> None:
    levels = {level: {"metrics.recording.level": level} for level in ("INFO", "DEBUG")}
    measures = {
        level: configured_application(counting(), {**GIVEN, **keys}, {}, RestoreListeners()).settings.is_debugging
        for level, keys in levels.items()
    }
    assert measures == {"INFO": False, "DEBUG": True}
    with pytest.raises(ConfigurationError, match=r"TRACE.*metrics.recording.level.*Use INFO or DEBUG"):
        configured_application(counting(), {**GIVEN, "metrics.recording.level": "TRACE"}, {}, RestoreListeners())


def test_configs_of_internal_topics_are_text() -> None:
    keywords = {"topic": {"min.insync.replicas": 2, "preallocate": True}}
    config = configured_application(counting(), GIVEN, keywords, RestoreListeners()).config
    assert config.topic_configs == {"min.insync.replicas": "2", "preallocate": "true"}


def test_handlers_and_the_dead_letter_topic_reach_the_tasks() -> None:
    def decide(*_: object) -> ErrorResponse:
        return ErrorResponse.RESUME

    keywords = {"production_exception_handler": decide, "errors_dead_letter_queue_topic_name": "dead"}
    handlers = configured_application(counting(), GIVEN, keywords, RestoreListeners()).settings.tasks.handlers
    assert handlers == ErrorHandlers(production=decide, dead_letter_topic="dead")


def test_patterns_need_a_classic_group_and_leave_its_repartition_topics_alone() -> None:
    def configured(pattern: str, **keywords: object) -> object:
        builder = StreamsBuilder()
        lines = builder.stream(re.compile(pattern), key=serdes.string, value=serdes.string)
        lines.repartition(name="again").to("out")
        return configured_application(builder.build(), GIVEN, keywords, RestoreListeners())

    assert configured("p-.*", group_protocol="classic")
    with pytest.raises(TopologyError, match=r"'p-\.\*', but no release of Kafka .* Set group_protocol='classic'"):
        configured("p-.*")
    with pytest.raises(TopologyError, match="'app-again-repartition' matches the pattern"):
        configured("app-.*", group_protocol="classic")


def test_an_application_with_a_pattern_has_other_sub_topologies_if_its_stores_are_others() -> None:
    def fingerprint(pattern: str, store: str) -> str:
        builder = StreamsBuilder()
        builder.stream(re.compile(pattern), key=serdes.string, value=serdes.string).group_by_key().count(store=store)
        keywords = {"group_protocol": "classic"}
        return configured_application(builder.build(), GIVEN, keywords, RestoreListeners()).fingerprint

    assert fingerprint("p-.*", "one") == fingerprint("p-.*", "one") == fingerprint("q-.*", "one")
    assert fingerprint("p-.*", "one") != fingerprint("p-.*", "two")
