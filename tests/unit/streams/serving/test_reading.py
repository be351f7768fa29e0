"""Questions of an address to stores of each kind, which a driver has filled."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import Processor, ProcessorContext, Record, StreamsBuilder, stores
from kafka_groups.streams.serving.reading import Asked, Shown, read
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT, HOUR = serdes.string, timedelta(hours=1)
PLAIN = stores.key_value("plain", TEXT, serdes.int64)
TIMED = stores.timestamped_key_value("timed", TEXT, serdes.int64)
WINDOWS = stores.window("windows", TEXT, serdes.int64, size=HOUR, retention=HOUR)
SESSIONS = stores.session("sessions", TEXT, serdes.int64, retention=HOUR)
VERSIONS = stores.versioned("versions", TEXT, serdes.int64, history=HOUR)
ALL: tuple[StoreDefinition, ...] = (PLAIN, TIMED, WINDOWS, SESSIONS, VERSIONS)


class Fill(Processor[str, int, str, int]):
    """Puts each record into all stores."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context

    def process(self, record: Record[str, int]) -> None:
        key, value, time_ms = record.key, record.value, record.timestamp_ms
        self.context.store(PLAIN).put(key, value)
        self.context.store(TIMED).put(key, value, time_ms)
        self.context.store(WINDOWS).put(key, value, time_ms)
        self.context.store(SESSIONS).put(key, time_ms, time_ms + 5, value)
        self.context.store(VERSIONS).put(key, value, time_ms)


@pytest.fixture(scope="module")
def driver() -> Iterator[TopologyTestDriver]:
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=serdes.int64).process(factory=Fill, stores=ALL)
    with TopologyTestDriver(builder.build()) as made:
        topic = made.input_topic("in", TEXT, serdes.int64)
        for number, word in enumerate(("be", "or", "be", "to")):
            topic.pipe(word, number, timestamp_ms=100 * number)
        yield made


def asked(driver: TopologyTestDriver, definition: StoreDefinition, method: str, **parameters: str) -> Shown:
    return read(driver.store(definition), Asked(definition, method, parameters))


@pytest.mark.parametrize(
    ("definition", "method", "parameters", "answer"),
    [
        (PLAIN, "get", {"key": "be"}, {"key": "be", "value": 2}),
        (PLAIN, "get", {"key": "no"}, None),
        (TIMED, "get", {"key": "be"}, {"key": "be", "value": 2}),
        (WINDOWS, "get", {"key": "be", "start_ms": "0"}, {"key": "be", "start_ms": 0, "value": 0}),
        (WINDOWS, "get", {"key": "be", "start_ms": "1"}, None),
        (VERSIONS, "get", {"key": "be"}, {"key": "be", "value": 2, "timestamp_ms": 200, "valid_to_ms": None}),
        (
            VERSIONS, "get", {"key": "be", "as_of_ms": "199"},
            {"key": "be", "value": 0, "timestamp_ms": 0, "valid_to_ms": 200},
        ),
        (VERSIONS, "get", {"key": "no"}, None),
    ],
)  # fmt: skip
def test_a_key(
    driver: TopologyTestDriver, definition: StoreDefinition, method: str, parameters: Mapping[str, str], answer: Shown
) -> None:
    assert asked(driver, definition, method, **parameters) == answer


@pytest.mark.parametrize(
    ("definition", "method", "parameters", "rows", "has_more"),
    [
        (PLAIN, "range", {}, [{"key": "be", "value": 2}, {"key": "or", "value": 1}, {"key": "to", "value": 3}], False),
        (PLAIN, "range", {"low": "c", "high": "or"}, [{"key": "or", "value": 1}], False),
        (PLAIN, "range", {"reverse": "true", "limit": "1"}, [{"key": "to", "value": 3}], True),
        (TIMED, "range", {"limit": "1"}, [{"key": "be", "value": 2}], True),
        (
            WINDOWS, "fetch", {"key": "be", "first_ms": "0", "last_ms": "200"},
            [{"start_ms": 0, "value": 0}, {"start_ms": 200, "value": 2}], False,
        ),
        (
            WINDOWS, "fetch", {"key": "be", "first_ms": "0", "last_ms": "200", "reverse": "true", "limit": "1"},
            [{"start_ms": 200, "value": 2}], True,
        ),
        (
            SESSIONS, "fetch", {"key": "be"},
            [{"start_ms": 0, "end_ms": 5, "value": 0}, {"start_ms": 200, "end_ms": 205, "value": 2}], False,
        ),
        (SESSIONS, "fetch", {"key": "no"}, [], False),
    ],
)  # fmt: skip
def test_rows(
    driver: TopologyTestDriver,
    definition: StoreDefinition,
    method: str,
    parameters: Mapping[str, str],
    rows: list[Any],
    has_more: bool,
) -> None:
    assert asked(driver, definition, method, **parameters) == {"rows": rows, "has_more": has_more}


@pytest.mark.parametrize(
    ("definition", "method", "parameters", "why"),
    [
        (PLAIN, "get", {}, "The parameter key is missing. /openapi.json lists the parameters."),
        (PLAIN, "range", {"limit": "0"}, "limit=0 is not from 1 to 10000. Ask for fewer rows at a time."),
        (PLAIN, "range", {"limit": "10001"}, "limit=10001 is not from 1 to 10000. Ask for fewer rows at a time."),
        (WINDOWS, "get", {"key": "be", "start_ms": "x"}, "start_ms='x' is not a whole number, such as 1767225600000."),
        (
            SESSIONS, "get", {"key": "be"},
            "Store 'sessions' has no get: it is of another kind. Its addresses: /stores/sessions/fetch.",
        ),
        (
            PLAIN, "fetch", {"key": "be"},
            (
                "Store 'plain' has no fetch: it is of another kind. Its addresses: /stores/plain/get and "
                "/stores/plain/range."
            ),
        ),
    ],
)  # fmt: skip
def test_wrong_questions(
    driver: TopologyTestDriver, definition: StoreDefinition, method: str, parameters: Mapping[str, str], why: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        asked(driver, definition, method, **parameters)
    assert str(raised.value) == why
