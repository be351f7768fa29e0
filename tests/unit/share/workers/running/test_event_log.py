"""The log of a handler says what became of its records and why, once for each class of errors."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from kafka_groups import Backoff, Batch, OnError, Reject, Retry, Worker, serdes
from kafka_groups.testing import WorkerTestDriver
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, reach, simulate

LOGGER = "kafka_groups.worker"


class Bug(Exception):  # noqa: N818 - its name is part of messages
    pass


def raising(*errors: Exception) -> Callable[[int], None]:
    """A handler that raises the error whose number is the value."""

    def handle(value: int) -> None:
        raise errors[value]

    return handle


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, LOGGER):
        yield


def texts(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    return [text.removeprefix("Handler handle: ") for text in found]


def traced(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[BaseException | None]:
    """The errors whose tracebacks were logged at a level."""
    return [record.exc_info[1] for record in caplog.records if record.exc_info and record.levelno == level]


@pytest.mark.parametrize(
    ("rule", "topic", "text"),
    [
        (OnError.ACCEPT, None, "accepted t-0@0 in spite of its error: Bug: no"),
        (OnError.REJECT, None, "gave up t-0@0, which is rejected for good: Bug: no"),
        (OnError.RELEASE, None, "gave up t-0@0, which is released: Bug: no"),
        (OnError.DEAD_LETTER, "dead", "gave up t-0@0, which is copied to dead and rejected: Bug: no"),
        (OnError.HOLD, "dead", "t-0@0 keeps failing and is held, as errors of the handler says: Bug: no."),
    ],
)
def test_the_log_says_what_became_of_a_record(
    rule: OnError, topic: str | None, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("t", value=serdes.int64, dead_letters=topic, errors={Bug: rule})(raising(Bug("no")))
    with WorkerTestDriver(worker) as test:
        test.deliver("t", 0)
    assert texts(caplog)[0] == text


NO_TOPIC = (
    "t-0@0 keeps failing and is held, because there is no topic for dead letters: Bug: no. Set dead_letters, exhausted"
    " or errors of the handler."
)


@pytest.mark.parametrize(
    ("exhausted", "text"),
    [
        (OnError.HOLD, "t-0@0 keeps failing and is held, as exhausted of the handler says: Bug: no."),
        (None, NO_TOPIC),
    ],
)
def test_the_log_says_why_a_record_is_held(
    exhausted: OnError | None, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    topic = None if exhausted is None else "dead"
    rules: dict[type[Exception], Backoff] = {Bug: Backoff(times=0)}
    declare = worker.handler("t", value=serdes.int64, errors=rules, exhausted=exhausted, dead_letters=topic)
    declare(raising(Bug("no")))
    with WorkerTestDriver(worker) as test:
        test.deliver("t", 0)
    assert texts(caplog)[0] == text


def test_without_a_topic_for_dead_letters_a_rejected_record_is_not_said_to_be_copied(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("t", value=serdes.int64)(raising(Reject("bad")))
    with WorkerTestDriver(worker) as test:
        test.deliver("t", 0)
    assert texts(caplog) == ["gave up t-0@0, which is rejected for good: bad"]


@pytest.mark.parametrize("error", [Reject("bad"), KeyError("bad")])
def test_the_log_names_the_topic_to_which_the_brokers_copy_a_rejected_record(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("t", value=serdes.int64, errors={KeyError: OnError.REJECT})(raising(error))
    with WorkerTestDriver(worker, group_dead_letters="g.dead") as test:
        test.deliver("t", 0)
    (text,) = texts(caplog)
    assert text.startswith("gave up t-0@0, which is rejected, so that the brokers copy it to g.dead: ")


def test_each_class_and_each_outcome_is_logged_although_others_were_logged_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    errors = (KeyError("a"), Reject("bad"), PermissionError("b"), LookupError("c"))
    rules = {KeyError: OnError.ACCEPT, PermissionError: OnError.REJECT, LookupError: OnError.RELEASE}
    worker.handler("t", value=serdes.int64, dead_letters="dead", errors=rules)(raising(*errors))
    with WorkerTestDriver(worker) as test:
        for value in (0, 0, 1, 1, 2, 2, 3, 3):
            test.deliver("t", value)
        test.deliver("t", raw=b"?")
        test.deliver("t", raw=b"?")
    assert [text.partition(": ")[0] for text in texts(caplog)] == [
        "accepted t-0@0 in spite of its error",
        "gave up t-0@2, which is copied to dead and rejected",
        "gave up t-0@4, which is rejected for good",
        "gave up t-0@6, which is released",
        "gave up t-0@8, which is copied to dead and rejected",
    ]


def test_the_first_warning_of_each_unexpected_class_has_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    errors = (Bug("a"), Reject("b"), Retry("c"), ConnectionError("d"), KeyError("e"))
    declare = worker.handler("t", value=serdes.int64, dead_letters="dead", retries=Backoff(first=1, times=2))
    declare(raising(*errors))
    with WorkerTestDriver(worker) as test:
        for value in range(5):
            test.deliver("t", value)
        test.advance(30)
    assert traced(caplog) == [errors[0], errors[4]]
    assert not traced(caplog, logging.DEBUG)


def test_at_debug_every_failure_has_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    errors = (Bug("a"), Reject("b"))
    worker.handler("t", value=serdes.int64, dead_letters="dead", errors={Bug: OnError.REJECT})(raising(*errors))

    @worker.batch_handler("u", value=serdes.int64, max_records=2, errors={Bug: OnError.REJECT})
    def fail(batch: Batch[int]) -> None:
        raise Bug("batch")

    with caplog.at_level(logging.DEBUG, LOGGER), WorkerTestDriver(worker) as test:
        for value in (0, 1, 0):
            test.deliver("t", value)
        test.deliver("u", 1)
        test.deliver("u", 2)
    *singles, batch = traced(caplog, logging.DEBUG)
    assert singles == [errors[0], errors[1], errors[0]]
    assert str(batch) == "batch"
    assert "Handler fail: the attempt for 2 records from u-0@0 on failed" in texts(caplog)


def test_classes_without_end_neither_flood_the_log_nor_fill_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("g", bootstrap_servers="x:1")

    @worker.handler("t", errors={Exception: OnError.REJECT})
    def handle(value: bytes) -> None:
        raise type(f"Bug{value.decode()}", (Exception,), {})("no")

    with WorkerTestDriver(worker) as test:
        for number in range(300):
            test.deliver("t", raw=b"%d" % number)
            test.deliver("t", raw=b"%d" % number)
    assert len(texts(caplog)) == 51
    assert len(traced(caplog)) <= 51


@pytest.mark.parametrize(("waiting", "level"), [(3, logging.WARNING), (0, logging.INFO)])
def test_the_log_says_that_a_handler_stops_and_how_many_records_it_released(
    waiting: int, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()
        failed: list[bytes] = []

        @worker.handler(TOPIC, errors={Bug: Backoff(first=600, most=600)})
        async def handle(value: bytes) -> None:
            failed.append(value)
            if value != b"fine":
                raise Bug("later")

        await world.produce([b"%d" % number for number in range(waiting)] + [b"fine"])
        async with world.running(worker, grace_s=7):
            await reach(lambda: len(failed) > waiting)
            await asyncio.sleep(1)

    simulate(program)
    stops, *left_out, stopped = texts(caplog)[-3 if waiting else -2 :]
    assert stops == "stops. It runs the records in hand for at most 7 s, and releases the rest"
    if waiting:
        assert left_out == [
            "2 more since this warning: Handler handle: orders-0@0 failed and is tried again: Bug: later"
        ]
        assert stopped == "has stopped, and has released 3 records. Each of them has used a delivery"
    else:
        assert (left_out, stopped) == ([], "has stopped")
    assert caplog.records[-1].levelno == level


def test_a_wait_of_more_than_an_hour_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("g", bootstrap_servers="x:1")

    @worker.handler("t", value=serdes.int64)
    def handle(value: int) -> None:
        raise Retry("quota", after=86_400)

    with WorkerTestDriver(worker) as test:
        for value in range(5):
            test.deliver("t", value)
        test.advance(seconds=7_200)
    told = [text for text in texts(caplog) if "Retry(after=86400)" in text]
    assert len(told) == 1
    assert told[0].startswith("Retry(after=86400) for t-0@0 waits for 3600 s, the longest wait. ")
    assert "To wait for more time, set retry_topics of the handler, raise Retry again" in told[0]


MISTAKES: list[tuple[Callable[[Batch[int]], object], str]] = [
    (lambda batch: batch.reject(10), "ConfigurationError: index=10: the batch has the positions 0 to 0"),
    (lambda batch: batch.retry(0, after=-1), "ConfigurationError: Retry(after=-1): give seconds, 0 or more, or None"),
    (lambda batch: batch.retry(0, KeyError), "ConfigurationError: error=KeyError is a class: give an error, as in "),  # type: ignore[arg-type]
    (lambda _: Worker("g", bootstrap_servers="x:1").stop(-1), "ConfigurationError: timeout=-1"),
]


@pytest.mark.parametrize(("mistake", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_in_a_handler_fails_its_records_and_opens_no_breaker(
    mistake: Callable[[Batch[int]], object], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker("g", bootstrap_servers="x:1")

    @worker.batch_handler("t", value=serdes.int64, max_records=4, dead_letters="dead", retries=Backoff(times=1))
    def handle(batch: Batch[int]) -> None:
        mistake(batch)

    with WorkerTestDriver(worker) as test:
        for value in range(8):
            test.deliver("t", value)
        test.advance(seconds=60)
        letters = test.dead_letters("dead")
        reasons = [letter.reason for letter in letters]
    assert len(reasons) == 8
    assert all(reason.startswith(text) for reason in reasons), reasons
    assert "the breaker is open" not in caplog.text


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_the_text_of_an_error_does_not_flood_the_log(level: int, caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("t", value=serdes.int64, name="handle")(raising(Bug(5_000_000 * "x")))
    with caplog.at_level(level, LOGGER), WorkerTestDriver(worker) as test:
        test.deliver("t", 0)
    assert "xxx…" in caplog.text
    assert len(caplog.text) < 20_000
