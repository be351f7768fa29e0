"""Declaring workers and handlers: programs that are refused before anything starts, and what is kept of the others."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import pytest

import kafka_groups
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.serdes import json, nullable, string
from kafka_groups.share import Backoff, Batch, OnError, Reject, Retry, Worker, current_attempt
from kafka_groups.share.workers.handlers import HandlerKeywords
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError, ParseError
from kafka_groups.share.workers.running.results import check_done

SERVERS = "localhost:9092"


@pytest.fixture
def worker() -> Worker:
    return Worker("g", bootstrap_servers=SERVERS)


def handle(value: bytes) -> None: ...


async def handle_async(value: bytes) -> None: ...


def generate(value: bytes) -> Iterator[bytes]:
    yield value


class Handler:
    def __call__(self, value: bytes) -> None: ...


class AsyncHandler:
    async def __call__(self, value: bytes) -> None: ...


# ---------------------------------------------------------------------------------------------- functions


def test_a_handler_is_returned_unchanged(worker: Worker) -> None:
    assert worker.handler("orders")(handle) is handle
    (spec,) = worker.handlers
    assert (spec.name, spec.topics, spec.is_async, spec.wants_record, spec.concurrency) == (
        "handle",
        ("orders",),
        False,
        False,
        8,
    )


@pytest.mark.parametrize(
    ("function", "is_async", "wants_record"),
    [
        (handle, False, False),
        (handle_async, True, False),
        (lambda value, record: None, False, True),
        (lambda value, tries=3: None, False, False),
        (lambda *arguments: None, False, False),
        (partial(lambda sink, value: None, "sink"), False, False),
        (Handler(), False, False),
        (AsyncHandler(), True, False),
    ],
    ids=["def", "async def", "with record", "optional argument", "any arguments", "partial", "object", "async object"],
)
def test_functions_that_fit(worker: Worker, function: Any, *, is_async: bool, wants_record: bool) -> None:
    worker.handler("orders", name="h")(function)
    (spec,) = worker.handlers
    assert (spec.is_async, spec.wants_record) == (is_async, wants_record)
    assert spec.concurrency == (100 if is_async else 8)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: None, "one or two arguments"),
        (lambda a, b, c: None, "one or two arguments"),
        (lambda *, value: None, "one or two arguments"),
        (generate, "contains yield"),
        (Handler, "is not a function"),
        ("handle", "is not a function"),
        (set[bytes]().add, "handler set.add is written in C .* call it in a def"),
    ],
    ids=["none", "three", "keyword only", "generator", "class", "string", "in C"],
)
def test_functions_that_do_not_fit(worker: Worker, function: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        worker.handler("orders")(function)


def test_a_batch_handler_takes_one_argument(worker: Worker) -> None:
    two: Any = lambda batch, record: None  # noqa: E731
    with pytest.raises(ConfigurationError, match="one argument, the batch"):
        worker.batch_handler("orders")(two)


def test_a_topic_has_one_handler_and_a_name_stands_once(worker: Worker) -> None:
    worker.handler(["orders", "refunds"])(handle)
    with pytest.raises(ConfigurationError, match="the topic 'refunds' has the handler handle already"):
        worker.handler("refunds", name="other")(handle)
    with pytest.raises(ConfigurationError, match="two handlers have the name 'handle'"):
        worker.handler("payments")(handle)


# ----------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": datetime}, "is not a serde"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"concurrency": 1_001}, "from 1 to 1000"),
        ({"concurrency": True}, "concurrency=True"),
        ({"buffer": -1}, "buffer=-1"),
        ({"buffer": 1_000_000}, "buffer=1000000"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "1 s"}, "timeout='1 s'"),
        ({"order_by": "value"}, "order_by='value'"),
        ({"retries": 5}, "retries=5"),
        ({"errors": [ValueError]}, "give a mapping"),
        ({"errors": {"ValueError": OnError.HOLD}}, "is not a class of errors"),
        ({"errors": {BaseException: OnError.HOLD}}, "is not a class of errors"),
        ({"errors": {ValueError: "hold"}}, "errors\\[ValueError\\]='hold'"),
        ({"outages": ConnectionError}, "give a sequence of error classes"),
        ({"outages": ["x"]}, "give a sequence of error classes"),
        ({"exhausted": "reject"}, "exhausted='reject'"),
        ({"on_blocked": OnError.HOLD}, "keeps the record that blocks"),
        ({"dead_letters": "orders"}, "is a topic of the handler"),
        ({"dead_letters": ""}, "dead_letters"),
        ({"name": ""}, "name=''"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_options_that_are_refused(worker: Worker, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        worker.handler("orders", **options)(handle)


UNKNOWN = {"dead_letter": "dead_letters", "retry": "retries", "time_out": "timeout", "topic": "topics", "dlq": None}


@pytest.mark.parametrize(("option", "meant"), UNKNOWN.items())
@pytest.mark.parametrize("decorator", ["handler", "batch_handler"])
def test_unknown_options_are_refused_with_a_suggestion(
    worker: Worker, decorator: str, option: str, meant: str | None
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        getattr(worker, decorator)("orders", **{option: None})
    text = str(refused.value)
    remedy = "Remove it." if meant is None else f"Did you mean {meant!r}?"
    assert f"Unknown option {option!r} of @worker.{decorator}. {remedy} The options are topics, " in text
    assert all(name in text for name in ("value", "dead_letters", "timeout", "on_blocked"))
    assert ("max_wait" in text, "order_by" in text) == (decorator == "batch_handler", decorator == "handler")


def test_all_unknown_options_are_named(worker: Worker) -> None:
    options: Any = UNKNOWN
    with pytest.raises(ConfigurationError) as refused:
        worker.handler("orders", **options)
    assert [name for name in UNKNOWN if f"Unknown option {name!r}" in str(refused.value)] == list(UNKNOWN)


@pytest.mark.parametrize("option", ["max_records", "max_wait"])
def test_options_of_batches_are_refused_for_single_records(worker: Worker, option: str) -> None:
    options: Any = {option: 5}
    with pytest.raises(ConfigurationError, match=rf"{option} is for batch handlers.* use @worker\.batch_handler"):
        worker.handler("orders", **options)


def test_every_option_that_exists_is_accepted(worker: Worker) -> None:
    options: Any = {name: None for name in HandlerKeywords.__annotations__ if name not in ("concurrency", "outages")}
    worker.handler("orders", value=None, concurrency=1, outages=(), **options)(handle)
    one_batch: Any = handle
    worker.batch_handler("more", max_records=1, max_wait=1, **{**options, "name": "batch"})(one_batch)
    assert [spec.name for spec in worker.handlers] == ["handle", "batch"]


@pytest.mark.parametrize("decorator", ["handler", "batch_handler"])
@pytest.mark.parametrize(
    "topics", [(), (handle,), (handle_async,), (Handler(),)], ids=["none", "def", "async", "object"]
)
def test_a_decorator_without_topics_is_refused(worker: Worker, decorator: str, topics: tuple[Any, ...]) -> None:
    message = rf'@worker\.{decorator} without a topic: write @worker\.{decorator}\("topic"\)'
    with pytest.raises(ConfigurationError, match=message):
        getattr(worker, decorator)(*topics)


class Broken(Reject):
    """A decision of a user's own class."""


@pytest.mark.parametrize("kind", [Reject, Retry, Broken, ParseError, HandlerResultError])
def test_rules_that_would_never_be_used_are_refused(worker: Worker, kind: type[Exception]) -> None:
    message = f"a rule for {kind.__name__} would never be used: "
    with pytest.raises(ConfigurationError, match=f"errors: {message}"):
        worker.handler("orders", errors={ValueError: OnError.HOLD, kind: OnError.HOLD})(handle)
    with pytest.raises(ConfigurationError, match=f"outages: {message}"):
        worker.handler("orders", outages=(ConnectionError, kind))(handle)


def test_errors_of_attempts_are_public_and_may_have_rules(worker: Worker) -> None:
    rules = {kafka_groups.AttemptTimeoutError: OnError.REJECT, kafka_groups.AttemptCancelledError: OnError.HOLD}
    worker.handler("orders", errors=rules, outages=(kafka_groups.AttemptTimeoutError,))(handle)
    assert issubclass(kafka_groups.AttemptTimeoutError, TimeoutError)
    assert kafka_groups.HandlerResultError is kafka_groups.share.HandlerResultError is HandlerResultError
    assert not issubclass(HandlerResultError, ConfigurationError), "the configuration is right, the program is wrong"


@pytest.mark.parametrize("topics", [[], "", 5, None, [5], "orders-.*", ["orders", "a b"]], ids=repr)
def test_topics_that_are_refused(worker: Worker, topics: Any) -> None:
    with pytest.raises(ConfigurationError, match="topic"):
        worker.handler(topics)(handle)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"max_records": 0}, "max_records=0"),
        ({"max_wait": 61}, "max_wait=61"),
        ({"max_wait": -1}, "max_wait"),
        ({"order_by": "key"}, "order_by is for handlers of single records"),
    ],
    ids=["no records", "long wait", "negative wait", "order"],
)
def test_batch_options_that_are_refused(worker: Worker, sizes: dict[str, Any], message: str) -> None:
    any_function: Any = handle
    with pytest.raises(ConfigurationError, match=message):
        worker.batch_handler("orders", **sizes)(any_function)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"auto_renew": False}, "a worker decides this itself"),
        ({"acknowledgement_mode": "implicit"}, "a worker decides this itself"),
        ({"max_poll_records": 10}, "concurrency= and buffer="),
        ({"value_deserializer": str}, "serdes.json"),
        ({"group_id": "other"}, "first argument of Worker"),
        ({"bootstrap_server": "x"}, "bootstrap_server"),
        ({"shutdown_timeout": -1}, "shutdown_timeout"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_workers_that_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Worker("g", bootstrap_servers=SERVERS, **keywords)


def test_dotted_keys_are_owned_as_well() -> None:
    with pytest.raises(ConfigurationError, match="a worker decides this itself"):
        Worker("g", {"bootstrap.servers": SERVERS, "share.acquire.mode": "record_limit"})


def test_a_worker_needs_a_handler_and_runs_once(worker: Worker) -> None:
    with pytest.raises(ConfigurationError, match="declare a handler"), worker:
        pass
    assert not worker.health().is_ready
    with pytest.raises(IllegalStateError, match="is not running"):
        asyncio.run(worker.wait())


def test_the_nearest_class_decides_about_an_error(worker: Worker) -> None:
    quick = Backoff(first=0, most=0, times=1)
    worker.handler("orders", errors={LookupError: OnError.REJECT, KeyError: quick})(handle)
    (spec,) = worker.handlers
    assert spec.errors[KeyError] is quick


# ------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"first": -1}, "first=-1"),
        ({"most": 604_801}, "most=604801"),
        ({"first": 5, "most": 1}, "must be at least the first"),
        ({"times": -1}, "times=-1"),
        ({"times": 1.5}, "times=1.5"),
        ({"jitter": 1}, "jitter=1"),
        ({"first": "1"}, "first='1'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_waits_that_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Backoff(**values)


def test_the_default_waits_sum_up_to_31_seconds() -> None:
    assert Backoff().total_s == 1 + 2 + 4 + 8 + 16


def test_decisions_about_a_batch_end_with_the_handler() -> None:
    batch: Batch[str] = Batch(["a", "b"], [])
    batch.reject(-1, "bad")
    with pytest.raises(ConfigurationError, match="positions 0 to 1"):
        batch.retry(2)
    assert list(batch.end()) == [1]
    with pytest.raises(IllegalStateError, match="has returned"):
        batch.reject(0)


def test_an_attempt_is_there_while_a_handler_runs_only() -> None:
    with pytest.raises(IllegalStateError, match="while they run"):
        current_attempt()


@pytest.mark.parametrize("make", [lambda: handle_async(b""), lambda: generate(b""), Future, lambda: iter([])])
def test_work_that_is_not_done_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(HandlerResultError, match="the handler returned"):
        check_done(make())


def test_other_results_are_ignored() -> None:
    for result in (True, 5, "done", {"id": 1}, object()):
        check_done(result)


def test_serdes_of_values(worker: Worker) -> None:
    worker.handler("orders", value=nullable(string))(lambda value: None)
    worker.handler("events", value=json(dict[str, int]), name="events")(lambda value: None)
    assert [spec.value is not None for spec in worker.handlers] == [True, True]


async def test_a_worker_whose_start_failed_can_be_started_again() -> None:
    tries: list[int] = []

    @contextmanager
    def lifespan() -> Iterator[None]:
        tries.append(1)
        if tries:
            raise OSError("no database")
        yield

    worker = Worker("g", bootstrap_servers=SERVERS, lifespan=lifespan)
    worker.handler("orders")(handle)
    for _ in range(2):
        with pytest.raises(OSError, match="no database"):
            async with worker:
                pass
    assert len(tries) == 2
    with pytest.raises(OSError, match="no database"), worker:
        pass
