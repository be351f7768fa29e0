"""Type checkers know the types of topologies: programs that mypy accepts, and wrong lines that it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("topology_types")]

HEAD = """
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type

from kafka_groups import serdes
from kafka_groups.serdes import Windowed
from kafka_groups.streams import (
    AsyncKafkaStreams, EmitStrategy, ErrorContext, ErrorResponse, GlobalKTable, JoinWindows, KafkaStreams,
    KeyValueStore, KGroupedStream, KStream, KTable, Position, Processor, ProcessorContext, PunctuationType, Record,
    SessionStore, SessionWindows, SlidingWindows, StreamsBuilder, Suppressed, TimestampedKeyValueStore, TimeWindows,
    Topology, UnlimitedWindows, VersionedKeyValueStore, WindowStore, stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

@dataclass(frozen=True)
class Order:
    customer: str
    currency: str
    total: float

@dataclass(frozen=True)
class Customer:
    name: str

@dataclass(frozen=True)
class Enriched:
    order: Order
    customer: Customer

@dataclass(frozen=True)
class Priced:
    enriched: Enriched
    rate: float | None

    @property
    def total(self) -> float:
        return self.enriched.order.total * (self.rate or 1)

@dataclass(frozen=True)
class Payment:
    amount: float

@dataclass(frozen=True)
class Pair:
    order: Order
    payment: Payment

@dataclass(frozen=True)
class Visit:
    pages: tuple[str, ...] = ()

    def add(self, page: str) -> "Visit":
        return Visit((*self.pages, page))

    def merge(self, other: "Visit") -> "Visit":
        return Visit((*self.pages, *other.pages))

def add_click(key: str, click: str, visit: Visit) -> Visit: return visit.add(click)
def add(key: str, payment: Payment, total: float) -> float: return total + payment.amount
def longer(key: str, priced: Priced) -> list[str]: return [key]
async def awaited(value: str) -> str: return value
async def awaited_pair(key: str, value: str) -> bool: return key == value
async def awaited_aggregate(key: str, value: str, total: str) -> str: return total

order_serde, customer_serde = serdes.json(Order), serdes.json(Customer)
COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
SEEN = stores.key_value("seen", serdes.string, serdes.int64)
LATEST = stores.timestamped_key_value("latest", serdes.string, order_serde)
RECENT = stores.window("recent", serdes.string, serdes.int64, size=timedelta(minutes=5), retention=timedelta(hours=1))
NAMES = stores.versioned("names", serdes.string, serdes.json(Customer), history=timedelta(hours=1))
VISITS = stores.session("visits", serdes.string, serdes.json(Visit), retention=timedelta(hours=1))

builder = StreamsBuilder()
posts = builder.stream("posts", key=serdes.string, value=serdes.string)
clicks = builder.stream("clicks", key=serdes.string, value=serdes.string)
orders = builder.stream("orders", key=serdes.string, value=order_serde)
payments = builder.stream("payments", key=serdes.string, value=serdes.json(Payment))
customers = builder.table("customers", key=serdes.string, value=customer_serde)
order_table = builder.table("orders-by-number", key=serdes.int64, value=order_serde)
rates = builder.global_table("rates", key=serdes.string, value=serdes.float64)
minute = timedelta(minutes=1)
totals = payments.group_by_key()
windows = TimeWindows(5 * minute, advance=minute, grace=timedelta(seconds=30))
gap = SessionWindows(minute, grace=minute)
near = JoinWindows(before=minute, after=minute, grace=timedelta(0))
enriched = orders.select_key(lambda _, order: order.customer).join(customers, Enriched)       # stream-table
priced = enriched.left_join(rates, Priced, on=lambda _, e: e.order.currency)                  # global table
tiers = priced.split(name="tier")
test = TopologyTestDriver(Topology())
text_topic = test.input_topic("posts", serdes.string, serdes.string)

def first_only(order: Record[str, Order], seen: KeyValueStore[str, int]) -> Iterator[Record[str, Order]]:
    if seen.put_if_absent(order.key, order.timestamp_ms) is None:
        yield order

class Expire(Processor[str, Order, str, Order]):
    def init(self, context: ProcessorContext[str, Order]) -> None:
        super().init(context)
        self.seen = context.store(SEEN)
        context.schedule(timedelta(minutes=1), PunctuationType.STREAM_TIME, self.expire)

    def process(self, record: Record[str, Order]) -> None:
        self.context.forward(record)

    def expire(self, now_ms: int) -> None:
        for key, seen_ms in self.seen.all():
            if seen_ms < now_ms - 86_400_000:
                self.seen.delete(key)
"""

RIGHT = """
def word_count() -> Topology:
    builder = StreamsBuilder()
    posts = builder.stream("posts", key=serdes.string, value=serdes.string)
    assert_type(posts, KStream[str, str])
    words = posts.flat_map_values(str.split)
    assert_type(words, KStream[str, str])
    grouped = words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string)
    assert_type(grouped, KGroupedStream[str, str])
    counts = grouped.count(store=COUNTS)
    assert_type(counts, KTable[str, int])
    counts.to_stream().to("word-counts")
    return builder.build()

def test_word_count() -> None:
    with TopologyTestDriver(word_count()) as driver:
        posts = driver.input_topic("posts", serdes.string, serdes.string)
        counts = driver.output_topic("word-counts", serdes.string, serdes.int64)
        posts.pipe("ann", "to be or not to be", timestamp_ms=0)
        posts.pipe(None, None, timestamp_ms=0)
        found = [(r.key, r.value) for r in counts.read_all()]
        assert_type(found, list[tuple[str, int]])
        assert_type(driver.store(COUNTS).get("to"), int | None)

per_user = clicks.group_by_key().windowed_by(windows).count(store="clicks")
assert_type(per_user, KTable[Windowed[str], int])
per_user.suppress(Suppressed.until_window_closes()).to_stream().foreach(print)
visits = (clicks.group_by_key()
    .windowed_by(SessionWindows(timedelta(minutes=30), grace=timedelta(minutes=5)))
    .aggregate(Visit, lambda user, click, visit: visit.add(click), lambda user, a, b: a.merge(b),
               value=serdes.json(Visit)))
assert_type(visits, KTable[Windowed[str], Visit])
kept = clicks.group_by_key().windowed_by(windows).count(store=RECENT)
assert_type(kept, KTable[Windowed[str], int])
sliding = clicks.group_by_key().windowed_by(SlidingWindows(minute, grace=minute)).reduce(max)
assert_type(sliding, KTable[Windowed[str], str])
closed = clicks.group_by_key().windowed_by(windows).emit_strategy(EmitStrategy.on_window_close()).count()
assert_type(closed, KTable[Windowed[str], int])
unlimited = clicks.group_by_key().windowed_by(UnlimitedWindows()).count()

assert_type(enriched, KStream[str, Enriched])
assert_type(priced, KStream[str, Priced])
named = order_table.join(customers, lambda order, customer: customer.name, on=lambda _, order: order.customer)
assert_type(named, KTable[int, str])
pairs = orders.join(payments, Pair, windows=near)
assert_type(pairs, KStream[str, Pair])
either = orders.outer_join(payments, lambda order, payment: order is None or payment is None, windows=near)
assert_type(either, KStream[str, bool])
with_key = orders.left_join(payments, with_key=lambda key, order, payment: (key, payment), windows=near)
assert_type(with_key, KStream[str, tuple[str, Payment | None]])
both = customers.outer_join(clicks.to_table(), lambda customer, click: click or "none")
assert_type(both, KTable[str, str])
vip, rest = tiers.branch(lambda _, p: p.total > 1000, name="vip"), tiers.default_branch()
assert_type(vip, KStream[str, Priced])
by_name = customers.group_by(lambda key, customer: (customer.name, key), key=serdes.string, value=serdes.string)
assert_type(by_name.reduce(max, min), KTable[str, str])
cogrouped = clicks.group_by_key().cogroup(add_click)
total = cogrouped.cogroup(orders.group_by_key(), lambda key, order, visit: visit.add(order.customer))
assert_type(total.aggregate(Visit, value=serdes.json(Visit)), KTable[str, Visit])

orders.process(first_only, stores=(SEEN,)).process(factory=Expire, stores=(SEEN,)).to(
    "unique-orders", key=serdes.string, value=order_serde)

def opened(context: ProcessorContext[str, Order]) -> None:
    assert_type(context.store(SEEN), KeyValueStore[str, int])
    assert_type(context.store(LATEST), TimestampedKeyValueStore[str, Order])
    assert_type(context.store(RECENT), WindowStore[str, int])
    assert_type(context.store(VISITS), SessionStore[str, Visit])
    assert_type(context.store(NAMES), VersionedKeyValueStore[str, Customer])

def asked(app: KafkaStreams, other: AsyncKafkaStreams) -> None:
    assert_type(app.store(COUNTS).get("to"), int | None)
    assert_type(app.store(LATEST, 0, allow_stale=True), KeyValueStore[str, Order])
    assert_type(app.store(RECENT), WindowStore[str, int])
    assert_type(app.store(VISITS, timeout=1), SessionStore[str, Visit])
    assert_type(app.store(NAMES, at_least=Position({"names": {0: 1}})), VersionedKeyValueStore[str, Customer])
    assert_type(other.store(COUNTS), KeyValueStore[str, int])

def on_error(context: ErrorContext, record: Record[object, object], error: Exception) -> ErrorResponse:
    return ErrorResponse.RESUME if isinstance(error, ValueError) else ErrorResponse.FAIL

driver = TopologyTestDriver(builder.build(), processing_exception_handler=on_error)
assert_type(driver.store(NAMES), VersionedKeyValueStore[str, Customer])
known_names = builder.table("names", key=serdes.string, value=serdes.json(Customer), store=NAMES)
assert_type(known_names, KTable[str, Customer])
assert_type(
    orders.join(known_names, lambda order, customer: Enriched(order, customer), grace=timedelta(minutes=1)),
    KStream[str, Enriched],
)
"""

WRONG = {
    # serdes
    'posts.to("out", value=serdes.int64)': 'Argument "value" to "to" of "KStream" has incompatible type "Serde[int]"',
    "posts.group_by_key(key=serdes.int64)": 'Argument "key" to "group_by_key" of "KStream"',
    "payments.group_by_key().aggregate(float, add, value=serdes.string)": 'Argument 1 to "aggregate"',
    'stores.key_value("counts", str, int)': 'Argument 2 to "key_value" has incompatible type "type[str]"',
    # functions of one operator
    "posts.map_values(len, value=serdes.string)": 'Argument 1 to "map_values" of "KStream"',
    "posts.map_values(lambda key, value: value)": 'Argument 1 to "map_values" of "KStream"',
    "posts.map(lambda key, value: value)": 'expected "Callable[[str, str], tuple[',
    "posts.filter(lambda value: bool(value))": 'Argument 1 to "filter" of "KStream"',
    "posts.flat_map_values(len)": 'Argument 1 to "flat_map_values" of "KStream"',
    "orders.map_values(lambda order: order.price)": '"Order" has no attribute "price"',
    "tiers.branch(longer)": 'Argument 1 to "branch" of "BranchedKStream"',
    "posts.filter(awaited_pair)": 'Argument 1 to "filter" of "KStream"',
    "customers.filter_not(lambda _, customer: customer.name)": 'Argument 1 to "filter_not" of "KTable"',
    "posts.map_values(awaited, value=serdes.string)": 'Argument 1 to "map_values" of "KStream"',
    # joins
    "orders.join(customers, lambda order, customer: customer.total)": '"Customer" has no attribute "total"',
    "orders.join(payments, Enriched, windows=near)": 'Argument 2 to "join" of "KStream"',
    "orders.join(payments, Pair)": 'No overload variant of "join" of "KStream"',
    "orders.join(payments, Pair, windows=windows)": '"type[Pair]", "TimeWindows"',
    "orders.join(order_table, Pair)": 'Argument 1 to "join" of "KStream" has incompatible type "KTable[int, Order]"',
    "orders.left_join(customers, Enriched)": 'expected "Callable[[Order, Customer | None]',
    "orders.join(rates, Priced)": 'No overload variant of "join" of "KStream"',
    "orders.join(rates, max, on=lambda _, order: order.total)": 'Argument "on" to "join" of "KStream"',
    "order_table.join(customers, max, on=lambda _, order: order.total)": 'Argument "on" to "join" of "KTable"',
    "order_table.join(customers, Enriched)": 'Argument 1 to "join" of "KTable"',
    "orders.merge(payments)": 'Argument 1 to "merge" of "KStream" has incompatible type "KStream[str, Payment]"',
    # aggregations
    "clicks.count()": '"KStream[str, str]" has no attribute "count"',
    "totals.aggregate(float, lambda total, _, payment: payment.amount, value=serdes.float64)": 'no attribute "amount"',
    "payments.group_by_key().reduce(lambda a, b: a.amount + b.amount)": 'Argument 1 to "reduce" of "KGroupedStream"',
    "clicks.group_by_key().aggregate(str, awaited_aggregate, value=serdes.string)": 'Argument 2 to "aggregate"',
    "payments.group_by_key().windowed_by(gap).aggregate(float, add, value=serdes.float64)": '"merger"',
    "clicks.group_by_key().count(store=RECENT)": 'Argument "store" to "count" of "KGroupedStream"',
    "clicks.group_by_key().count(store=LATEST)": 'Argument "store" to "count" of "KGroupedStream"',
    "clicks.group_by_key().windowed_by(windows).count(store=COUNTS)": 'Argument "store" to "count" of "TimeWindowed',
    "clicks.group_by_key().windowed_by(gap).count(store=RECENT)": 'Argument "store" to "count" of "SessionWindowed',
    "clicks.group_by_key().windowed_by(near)": 'argument type "JoinWindows"',
    # windows
    "TimeWindows(minute)": 'Missing named argument "grace" for "TimeWindows"',
    "JoinWindows(before=minute, after=minute)": 'Missing named argument "grace" for "JoinWindows"',
    "SessionWindows(30, grace=minute)": 'Argument 1 to "SessionWindows" has incompatible type "int"',
    # processors and the test driver
    "orders.process(first_only, stores=SEEN)": 'Argument "stores" to "process" of "KStream"',
    "orders.process(factory=Visit)": 'Argument "factory" to "process" of "KStream"',
    "payments.process(factory=Expire)": 'Argument "factory" to "process" of "KStream" has incompatible type',
    'text_topic.pipe("ann", 5)': 'Argument 2 to "pipe" of "TestInputTopic" has incompatible type "int"',
    'text_topic.pipe(5, "ann")': 'Argument 1 to "pipe" of "TestInputTopic" has incompatible type "int"',
    'test.store(COUNTS).put("to", "two")': 'Argument 2 to "put" of "KeyValueStore" has incompatible type "str"',
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of the right program and of the wrong one."""
    directory = tmp_path_factory.mktemp("programs")
    right, wrong = directory / "right_topologies.py", directory / "wrong_topologies.py"
    right.write_text(HEAD + RIGHT)
    wrong.write_text(HEAD + "\n".join(WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", str(right), str(wrong)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def test_mypy_accepts_the_right_program(said: list[str]) -> None:
    assert [line for line in said if "right_topologies.py" in line] == []
    assert said[-1].startswith("Found ")
    assert said[-1].endswith("in 1 file (checked 2 source files)")


@pytest.mark.parametrize(("line", "message"), list(enumerate(WRONG.values())), ids=list(WRONG))
def test_mypy_refuses_wrong_lines(said: list[str], line: int, message: str) -> None:
    number = HEAD.count("\n") + 1 + line
    errors = [text for text in said if f"wrong_topologies.py:{number}: error:" in text]
    assert any(message in text for text in errors), (errors, said)
