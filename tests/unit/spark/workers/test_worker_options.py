"""What `ShareWorkers` is told, and what it says of what is wrong."""

import functools
import pickle
import socket
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark import KafkaSink, ParquetSink, ShareBatch, ShareWorkers, SqlSink, worker_ticks
from kafka_groups.spark.workers.ticks import checked_workers

CONFIG = {"bootstrap.servers": "b:9092", "group.id": "g"}


def process(batch: ShareBatch) -> None:
    pass


def made(**keywords: Any) -> ShareWorkers:
    return ShareWorkers(CONFIG, **{"topics": ["t"], "process": process, **keywords})


def test_what_the_workers_promise_is_set_and_the_rest_is_the_users() -> None:
    config = made(max_poll_records=7, max_records=9, max_seconds=0.5, on_error="reject").task(250)
    assert config.spec.config.acknowledgement_mode == "explicit"
    assert config.spec.config.auto_renew
    assert config.spec.config.max_poll_records == 7
    assert config.spec.config.fetch_max_records == 7
    assert made(fetch_max_records="adaptive").task().spec.config.fetch_max_records == "adaptive"
    assert (config.limits.max_records, config.limits.max_ms, config.limits.drained_ms) == (9, 500, 250)
    assert config.on_error == "reject"
    assert ShareWorkers({**CONFIG, "max.poll.records": 8}, topics=["t"], process=process).task().spec.config == (
        made(max_poll_records=8).task().spec.config
    )


def test_processing_may_take_as_long_as_it_takes_unless_the_user_says_otherwise() -> None:
    assert made().task().spec.config.max_poll_interval_ms == 2**31 - 1
    assert made(max_poll_interval_ms=60_000).task().spec.config.max_poll_interval_ms == 60_000
    assert made(**{"max.poll.interval.ms": 60_000}).task().spec.config.max_poll_interval_ms == 60_000


def test_equal_workers_share_a_consumer_and_others_do_not() -> None:
    assert made().task().spec.key == made().task().spec.key
    keys = {w.task().spec.key for w in (made(), made(topics=["u"]), made(process=print), made(client_id="other"))}
    assert len(keys) == 4


def test_workers_travel_as_foreach_batch_functions_of_spark_connect_do() -> None:
    copy = pickle.loads(pickle.dumps(made()))
    assert copy.task() == made().task()
    assert repr(copy) == "<ShareWorkers group g topics t>"


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"topics": "t"}, r"topics='t': give a list of topic names"),
        ({"topics": []}, "topics is empty: give at least one name"),
        ({"process": None}, "process=None is not callable: give a function of a ShareBatch"),
        ({"backoff_seconds": -1}, "backoff_seconds=-1: give seconds from 0 to 3600"),
        ({"backoff_seconds": "5m"}, "backoff_seconds='5m': give seconds"),
        ({"retry_seconds": 4}, "retry_seconds=4: use backoff_seconds"),
        ({"go_on_file": ""}, "go_on_file='': give the path of a file"),
        ({"max_records": 0}, "max_records=0: give a number above 0"),
        ({"max_seconds": "10"}, "max_seconds='10': give a number above 0"),
        ({"on_error": "ignore"}, "on_error='ignore': give one of 'release', 'per_record', 'reject'"),
        ({"dead_letter_topic": ""}, "dead_letter_topic='': give the name of a topic"),
        ({"idle_close_seconds": -1}, "idle_close_seconds=-1: give a number above 0"),
        ({"acknowledgement_mode": "implicit"}, "acknowledgement_mode='implicit': workers set it to 'explicit'"),
        ({"auto_renew": False}, "auto_renew=False: workers set it to True themselves; remove it"),
        ({"value_deserializer": bytes.decode}, "value_deserializer: workers hand out bytes"),
        ({"no_such_key": 1}, "Unknown configuration key 'no_such_key'"),
        ({"auto.offset.reset": "earliest"}, "Set the group configuration share.auto.offset.reset"),
    ],
)
def test_what_is_wrong_is_named_with_the_remedy(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        made(**keywords)


def test_what_says_the_same_as_the_workers_may_stay() -> None:
    assert made(**{"share.acknowledgement.mode": "explicit"}).task().spec.config.auto_renew


def test_a_function_that_cannot_travel() -> None:
    with socket.socket() as connection, pytest.raises(ConfigurationError, match=r"cannot be pickled.*when it is first"):
        made(process=lambda batch: connection.send(b""))


def test_functions_for_tokens_travel_as_process_does() -> None:
    keys = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    made(**keys, oauth_cb=lambda _config: ("token", 4e9))
    with socket.socket() as connection, pytest.raises(ConfigurationError, match="oauth_cb cannot be pickled"):
        made(**keys, oauth_cb=lambda _config: connection.send(b""))


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2", None])
def test_a_number_of_workers(workers: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"workers=.*1 or more"):
        worker_ticks(None, workers=workers)  # type: ignore[arg-type]
    assert checked_workers(3) == 3


def generator(batch: ShareBatch) -> Iterator[int]:
    yield len(batch)


async def coroutine(batch: ShareBatch) -> None:
    pass


def connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (generator, r"is a generator function.*does nothing; write an ordinary function that returns None"),
        (coroutine, "is declared with async def"),
        (functools.partial(generator), "is a generator function"),
        (ParquetSink, r"process=ParquetSink is a class.*give an object, as in process=ParquetSink\(…\)"),
        (ParquetSink.write, "cannot be called with one argument"),
        (lambda: None, "cannot be called with one argument"),
    ],
)
def test_a_function_that_would_store_nothing_is_refused(function: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        made(process=function)


@pytest.mark.parametrize("function", [generator, coroutine, list, lambda: None, "orders"])
def test_a_listener_that_would_hear_nothing_is_refused(function: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"on_result=.* (is|cannot be called)"):
        made(on_result=function)


@pytest.mark.parametrize("function", [generator, coroutine, list, lambda: None, "orders"])
def test_a_conversion_that_would_convert_nothing_is_refused(function: Any) -> None:
    for sink in (
        lambda: ParquetSink("orders", transform=function),
        lambda: KafkaSink({"bootstrap.servers": "b:9092"}, topic="t", transform=function),
        lambda: SqlSink(connect, table="t", columns={}, row=function),
    ):
        with pytest.raises(ConfigurationError, match=r"(transform|row)=.* (is|cannot be called)"):
            sink()


def test_a_connection_in_place_of_a_function_that_opens_one() -> None:
    connection: Any = object()
    with pytest.raises(ConfigurationError, match=r"connect=.* is not callable: give a function that opens"):
        SqlSink(connection, table="t", columns={})


def test_sinks_and_partials_of_ordinary_functions_may_be_given() -> None:
    made(process=functools.partial(process))
    made(process=ParquetSink("orders"))
