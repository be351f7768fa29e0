"""Type checkers know the types of handlers: samples that mypy accepts, and wrong programs that it refuses."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("topology_types")]

HEAD = """
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from kafka_groups import (
    Attempt, AttemptTimeoutError, Backoff, Batch, OnError, RateLimit, Reject, Retry, ShareRecord, Worker,
    current_attempt, inject, serdes,
)

@dataclass(frozen=True)
class Order:
    total: float

@dataclass(frozen=True)
class Payment:
    total: float

class Busy(Exception): ...

@contextmanager
def session(attempt: Attempt) -> Iterator[None]:
    yield

class Database:
    def insert(self, order: Order) -> None: ...

@contextmanager
def open_database(url: str = "db") -> Iterator[Database]:
    yield Database()

@asynccontextmanager
async def open_async_database() -> AsyncIterator[Database]:
    yield Database()

async def read_limit() -> int:
    return 5

def bare_generator() -> Iterator[Database]:
    yield Database()

orders, payments = serdes.json(Order), serdes.json(Payment)
worker = Worker("invoices", bootstrap_servers="localhost:9092", middleware=[session])
def invoice_bytes(value: bytes) -> None: ...
"""

RIGHT = """
@worker.handler("orders", value=orders, dead_letters="orders.dead")
def invoice(order: Order) -> None:
    if order.total < 0:
        raise Reject("negative total")

@worker.handler(["payments", "refunds"], value=payments, concurrency=1000, timeout=60, order_by="key",
                retries=Backoff(first=1, most=30, times=5), outages=(AttemptTimeoutError, ConnectionError),
                errors={ValueError: OnError.DEAD_LETTER, Busy: Backoff(first=5, most=60)})
async def pay(payment: Payment, record: ShareRecord[bytes, Payment]) -> None:
    if payment.total > 5 and not current_attempt().lock_lost:
        raise Retry("bank is closed", after=30)

@worker.batch_handler("events", value=orders, max_records=500, max_wait=1.0)
def store(batch: Batch[Order]) -> None:
    for index, order in enumerate(batch):
        if order.total < 0:
            batch.retry(index, ValueError("negative"))

@worker.batch_handler("more")
async def store_more(batch: Batch[bytes]) -> None: ...

@worker.handler("raw")
def raw(value: bytes) -> None: ...

@worker.handler("null", value=serdes.nullable(serdes.string))
def null(value: str | None) -> int:
    return 5

@worker.handler("limited", rate_limit="10/s")
def limited(value: bytes) -> None: ...

@worker.batch_handler("bulk", rate_limit=RateLimit(10, per=60.0, burst=500))
def bulk(batch: Batch[bytes]) -> None: ...

Worker("g", bootstrap_servers="x", start="earliest")
Worker("g", bootstrap_servers="x", start=timedelta(hours=1))

invoice(Order(5.0))
worker.run()
"""

WRONG = (
    "worker.handler('a', value=orders)(invoice_bytes)",
    "@worker.handler('a')\ndef text(value: str) -> None: ...",
    "@worker.handler('a', value=orders)\nasync def pay(payment: Payment) -> None: ...",
    "@worker.handler('a', value=orders)\ndef two(order: Order, record: ShareRecord[bytes, Payment]) -> None: ...",
    "@worker.batch_handler('a', value=orders)\ndef many(batch: Batch[Payment]) -> None: ...",
    "@worker.batch_handler('a', value=orders)\ndef one(order: Order) -> None: ...",
    "worker.handler('a', concurency=5)",
    "@worker.handler\ndef bare(value: bytes) -> None: ...",
    "worker.handler()",
    "worker.batch_handler()",
    "worker.handler('a', max_records=5)",
    "worker.handler('a', retries=5)",
    "worker.handler('a', errors={ValueError: 'reject'})",
    "worker.handler('a', order_by='value')",
    "worker.handler('a', exhausted='hold')",
    "worker.handler('a', value=serdes.nullable(serdes.string))(lambda_str)\ndef lambda_str(value: str) -> None: ...",
    "Worker('g', bootstrap_servers='x', auto_renew=True)",
    "Worker('g', bootstrap_servers='x', max_poll_records=5)",
    "worker.handler('a', rate_limit=10)",
    "RateLimit('10/s')",
    "Worker('g', bootstrap_servers='x', start='first')",
    "Worker('g', bootstrap_servers='x', start=3600)",
    "Worker('g', bootstrap_servers='x', start=datetime(2026, 1, 31))",
)


RIGHT_DEPENDENCIES = (
    """
@worker.handler("a", value=orders)
def invoice(order: Order, *, db: Database = inject(open_database)) -> None:
    db.insert(order)

def test() -> None:
    invoice(Order(5.0), db=Database())
    invoice(Order(5.0))
""",
    """
@worker.handler("a", value=orders)
async def invoice(
    order: Order,
    record: ShareRecord[bytes, Order],
    *,
    db: Database = inject(open_async_database, scope="attempt"),
    other: Database = inject(partial(open_database, "other"), scope="process"),
    limit: int = inject(read_limit),
) -> None:
    db.insert(order)
""",
    """
class Store:
    def __init__(self, db: Database = inject(open_database)) -> None:
        self.db = db

@worker.batch_handler("a", value=orders)
def invoice(batch: Batch[Order], *, store: Store = inject(Store), fixed: Database = inject(lambda: Database())) -> None:
    for order in batch:
        store.db.insert(order)

def test(batch: Batch[Order]) -> None:
    invoice(batch, store=Store(Database()))
""",
    """
@contextmanager
def transaction(db: Database = inject(open_database)) -> Iterator[Database]:
    yield db

@worker.handler("a", value=orders)
def invoice(order: Order, db: Database = inject(transaction, scope="attempt"), retries: int = 3) -> None:
    db.insert(order)
""",
)
"""Programs with `inject` that mypy accepts."""

WRONG_DEPENDENCIES = {
    "def invoice(order: Order, *, db: Database = inject(read_limit)) -> None: ...": "Incompatible default",
    "def invoice(order: Order, *, db: Database = inject(bare_generator)) -> None: ...": "Incompatible default",
    "def invoice(order: Order, *, db: Database = inject(Database())) -> None: ...": "arg-type|call-overload",
    "def invoice(order: Order, *, db: Database = inject(open_database, scope='run')) -> None: ...": "call-overload",
    "@worker.handler('a', value=orders)\n"
    "def invoice(payment: Payment, *, db: Database = inject(open_database)) -> None: ...": "call-overload",
}
"""Programs with `inject` that mypy refuses, and how."""


OUTPUT_HEAD = """
from collections.abc import AsyncIterator, Generator, Iterator
from typing import assert_type

from kafka_groups import Output, OutputError, ProducerRecord

@dataclass(frozen=True)
class Invoice:
    total: float

class Reminder(Invoice): ...

invoices = Output("invoices", value=serdes.json(Invoice))
named = Output("invoices", value=serdes.json(Invoice), key=serdes.string, origin_headers=True)
"""

RIGHT_OUTPUTS = (
    OUTPUT_HEAD
    + """
@worker.handler("a", value=orders, output=invoices)
def invoice(order: Order) -> Invoice:
    return Invoice(order.total)

assert_type(invoice(Order(5.0)), Invoice)

@worker.handler("b", value=orders, output=invoices, errors={OutputError: OnError.REJECT})
async def later(order: Order, record: ShareRecord[bytes, Order]) -> Invoice | None:
    return Invoice(order.total) if order.total else None

@worker.handler("c", value=orders, output=invoices)
def several(order: Order) -> list[Invoice]:
    return [Invoice(order.total), Reminder(order.total)]

@worker.handler("d", value=orders, output=invoices)
def yields(order: Order) -> Iterator[Invoice]:
    yield invoice(order)

@worker.handler("e", value=orders, output=invoices)
async def yields_later(order: Order) -> AsyncIterator[Invoice | ProducerRecord[bytes, Invoice]]:
    yield Reminder(order.total)
    yield ProducerRecord(Invoice(order.total), key=b"k")

@worker.handler("f", value=orders, output=invoices)
def deleted(order: Order) -> ProducerRecord[bytes, Invoice | None]:
    return ProducerRecord(None) if order.total < 0 else ProducerRecord(Invoice(order.total), headers=[("a", b"1")])

@worker.handler("g", value=orders, output=named)
def with_key(order: Order) -> ProducerRecord[str, Invoice] | tuple[ProducerRecord[str, Reminder], ...]:
    made = ProducerRecord(Reminder(5.0))
    without = ProducerRecord(Reminder(6.0), key=None)
    return (made, without) if order.total else ProducerRecord(Invoice(5.0), key="ann")

@worker.handler("h", output="invoices")
def raw(value: bytes) -> bytes:
    return value

@worker.handler("i", output="invoices")
def raw_record(value: bytes) -> Generator[ProducerRecord[bytes, bytes], None, None]:
    yield ProducerRecord(value, key=value, timestamp=5)

@worker.handler("j", value=orders, output=[invoices, "audit", Output("more", key=serdes.string)])
def routed(order: Order) -> list[ProducerRecord[bytes, Invoice] | ProducerRecord[bytes, bytes]]:
    return [ProducerRecord(Invoice(5.0), topic="invoices"), ProducerRecord(b"5", topic="audit")]

@worker.handler("k", value=orders, output=invoices)
def nothing(order: Order) -> None: ...

@worker.batch_handler("l", value=orders, output=invoices)
def store(batch: Batch[Order]) -> None:
    for index, order in enumerate(batch):
        batch.output(index, Invoice(order.total), ProducerRecord(Invoice(5.0), key=None))

@worker.handler("m", value=orders)
def ignored(order: Order) -> dict[str, int]:
    return {}

assert_type(ignored(Order(5.0)), dict[str, int])
assert_type(with_key(Order(5.0)), ProducerRecord[str, Invoice] | tuple[ProducerRecord[str, Reminder], ...])
""",
)
"""Programs with outputs that mypy accepts."""

_OF_ORDER = "@worker.handler('a', value=orders, output=invoices)\n"

WRONG_OUTPUTS = tuple(OUTPUT_HEAD + source for source in (
    f"{_OF_ORDER}def other(order: Order) -> Order: return order",
    f"{_OF_ORDER}async def other(order: Order) -> Order: return order",
    f"{_OF_ORDER}def texts(order: Order) -> list[str]: return []",
    f"{_OF_ORDER}def yields(order: Order) -> Iterator[Order]: yield order",
    f"{_OF_ORDER}async def yields(order: Order) -> AsyncIterator[Order]: yield order",
    f"{_OF_ORDER}def made(order: Order) -> ProducerRecord[bytes, Order]: return ProducerRecord(order)",
    f"{_OF_ORDER}def key(order: Order) -> ProducerRecord[str, Invoice]: return ProducerRecord(Invoice(5.0), key='a')",
    f"{_OF_ORDER}def value(payment: Payment) -> Invoice: return Invoice(5.0)",
    "@worker.handler('a', output='invoices')\ndef text(value: bytes) -> str: return 'a'",
    "@worker.handler('a', output=named)\ndef key(v: bytes) -> ProducerRecord[bytes, Invoice]: raise ValueError",
    "@worker.handler('a', output=[invoices, 'audit'])\ndef unrouted(value: bytes) -> Invoice: return Invoice(5.0)",
    "worker.handler('a', output=5)",
    "worker.handler('a', outputs='invoices')",
    "Output('invoices', value=Invoice)",
    "ProducerRecord(b'a', header=[('a', b'1')])",
    "ProducerRecord(b'a', headers=[('a', '1')])",
    "@worker.batch_handler('a', output='invoices')\ndef many(batch: Batch[bytes]) -> list[bytes]: return list(batch)",
))  # fmt: skip
"""Programs with outputs that mypy refuses."""


RIGHT_PROGRAMS: Mapping[str, Sequence[str]] = {
    "handlers": (RIGHT,),
    "inject": RIGHT_DEPENDENCIES,
    "outputs": RIGHT_OUTPUTS,
}
"""Programs that mypy accepts, by what they show."""

WRONG_PROGRAMS: Mapping[str, Mapping[str, str]] = {
    "handlers": dict.fromkeys(WRONG, "error:"),
    "inject": WRONG_DEPENDENCIES,
    "outputs": dict.fromkeys(WRONG_OUTPUTS, "error:"),
}
"""Programs that mypy refuses, by what they show, with an expression that finds the error."""


def checked(directory: Path, sources: dict[str, str]) -> dict[str, str]:
    """The errors of mypy by file."""
    for name, source in sources.items():
        (directory / f"{name}.py").write_text(HEAD + source, encoding="utf-8")
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(directory / "cache")]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *options, *(f"{n}.py" for n in sources)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=environment)
    assert not done.stderr, done.stderr
    errors: dict[str, str] = dict.fromkeys(sources, "")
    for line in done.stdout.splitlines():
        name = line.split(".py:", 1)[0]
        errors[name] += line + "\n"
    return errors


def test_samples_are_right_and_wrong_programs_are_refused(tmp_path: Path) -> None:
    right = {f"right_{kind}_{n}": source for kind, some in RIGHT_PROGRAMS.items() for n, source in enumerate(some)}
    wrong = {f"wrong_{kind}_{n}": pair for kind, some in WRONG_PROGRAMS.items() for n, pair in enumerate(some.items())}
    errors = checked(tmp_path, {**right, **{name: source for name, (source, _) in wrong.items()}})
    assert {name: errors[name] for name in right} == dict.fromkeys(right, "")
    accepted = [
        (source, expected, errors[name])
        for name, (source, expected) in wrong.items()
        if re.search(expected, errors[name]) is None
    ]
    assert accepted == []
