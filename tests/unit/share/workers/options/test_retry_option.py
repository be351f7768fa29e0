"""The option `retry_topics`: what it excludes and needs, and the limits of waits."""

import pytest

from kafka_groups import Backoff, OnError, RetryTopics, Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerKeywords, HandlerSpec

TOPICS = RetryTopics("orders.retry", delays=(10, 60))


def declared(*several: HandlerKeywords) -> tuple[HandlerSpec, ...]:
    worker = Worker("g", bootstrap_servers="x:1")
    for number, options in enumerate(several):

        def handle(value: bytes) -> None: ...

        named: HandlerKeywords = {"name": f"handle-{number}", **options}
        worker.handler(f"orders-{number}", **named)(handle)
    return tuple(worker.handlers)


def test_a_handler_keeps_its_retry_topics() -> None:
    (spec,) = declared({"retry_topics": TOPICS, "dead_letters": "dead"})
    assert spec.retry_topics == TOPICS
    assert declared({})[0].retry_topics is None


@pytest.mark.parametrize("wrong", ["orders.retry", (10, 60), RetryTopics])
def test_other_values_are_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"retry_topics=.*: give RetryTopics, such as RetryTopics\("):
        declared({"retry_topics": wrong, "dead_letters": "dead"})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"order_by": "key", "dead_letters": "dead"}, "with order_by: retry topics give up the order of a key"),
        ({"on_blocked": OnError.REJECT, "dead_letters": "dead"}, "with on_blocked=.*: retry topics replace on_blocked"),
        ({}, "without dead_letters: .* Set dead_letters= of the handler"),
        ({"dead_letters": "orders.retry.1m"}, "'orders.retry.1m' is the topic for dead letters, too. Give another"),
    ],
)
def test_what_does_not_fit_is_refused(options: HandlerKeywords, text: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"handler handle-0: retry_topics='orders.retry'.*{text}"):
        declared({"retry_topics": TOPICS, **options})


def test_a_handler_does_not_read_its_own_retry_topic() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    with pytest.raises(ConfigurationError, match=r"handler handle reads 'r\.10s', which is the retry topic of handler"):

        @worker.handler(["orders", "r.10s"], retry_topics=RetryTopics("r"), dead_letters="dead")
        def handle(value: bytes) -> None: ...


LOOPS: list[tuple[HandlerKeywords, str]] = [
    ({"retry_topics": RetryTopics("orders-1", delays=(10,)), "dead_letters": "dead"}, "retry topic"),
    ({"dead_letters": "orders-1.10s"}, "topic for dead letters"),
]


@pytest.mark.parametrize(("options", "what"), LOOPS)
@pytest.mark.parametrize("reads_first", [True, False])
def test_a_handler_does_not_read_what_another_one_writes_for_failures(
    options: HandlerKeywords, what: str, reads_first: bool
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")

    def writer(value: bytes) -> None: ...

    def reader(value: bytes) -> None: ...

    def declare(is_reader: bool) -> None:
        if is_reader:
            worker.handler("orders-1.10s")(reader)
        else:
            worker.handler("orders", **options)(writer)

    declare(reads_first)
    with pytest.raises(
        ConfigurationError, match=rf"handler reader reads 'orders-1\.10s', which is the {what} of handler writer"
    ):
        declare(not reads_first)


def test_handlers_have_prefixes_of_their_own() -> None:
    with pytest.raises(ConfigurationError, match="handlers handle-0 and handle-1 have the same prefix of retry topics"):
        declared(
            {"retry_topics": RetryTopics("r", delays=(10,)), "dead_letters": "dead"},
            {"retry_topics": RetryTopics("r", delays=(60,)), "dead_letters": "dead"},
        )


@pytest.mark.parametrize("is_first", [True, False])
def test_a_retry_topic_is_no_topic_for_dead_letters_of_another_handler(is_first: bool) -> None:
    retried: HandlerKeywords = {"retry_topics": TOPICS, "dead_letters": "dead"}
    lettered: HandlerKeywords = {"dead_letters": "orders.retry.10s"}
    with pytest.raises(ConfigurationError, match=r"dead_letters='orders\.retry\.10s' is a retry topic of handler"):
        declared(*((retried, lettered) if is_first else (lettered, retried)))


def test_a_retry_topic_is_no_output() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    with pytest.raises(ConfigurationError, match=r"output='r\.10s' is a retry topic of handler handle, in which"):

        @worker.handler("orders", output="r.10s", retry_topics=RetryTopics("r"), dead_letters="dead")
        def handle(value: bytes) -> bytes:
            return value

    @worker.handler("orders", output="s.10s")
    def write(value: bytes) -> bytes:
        return value

    with pytest.raises(ConfigurationError, match=r"handler write: output='s\.10s' is a retry topic of handler other"):

        @worker.handler("others", retry_topics=RetryTopics("s"), dead_letters="dead")
        def other(value: bytes) -> None: ...


def test_handlers_may_share_a_topic_for_dead_letters() -> None:
    declared(
        {"retry_topics": RetryTopics("a"), "dead_letters": "dead"},
        {"retry_topics": RetryTopics("b"), "dead_letters": "dead"},
    )


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"retries": Backoff(most=7_200)}, "retries"),
        ({"errors": {ValueError: Backoff(first=5, most=3_601)}}, r"errors\[ValueError\]"),
    ],
)
def test_waits_of_more_than_an_hour_need_retry_topics(options: HandlerKeywords, option: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{option}=Backoff\(most=.*3600 seconds .* Set retry_topics="):
        declared(options)
    declared({**options, "retry_topics": TOPICS, "dead_letters": "dead"})


def test_an_hour_needs_none() -> None:
    declared({"retries": Backoff(first=3_600, most=3_600)})


@pytest.mark.parametrize("seconds", [604_801, -1, float("nan"), True])
def test_no_wait_is_longer_than_a_week(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="give 0 to 604800 seconds"):
        Backoff(most=seconds)
