"""Type checkers know the types of handlers: samples that mypy accepts, and wrong programs that it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("topology_types")]

HEAD = """
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from kafka_groups import (
    Attempt, AttemptTimeoutError, Backoff, Batch, OnError, Reject, Retry, ShareRecord, Worker, current_attempt, serdes,
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
    "Worker('g', bootstrap_servers='x', start='first')",
    "Worker('g', bootstrap_servers='x', start=3600)",
    "Worker('g', bootstrap_servers='x', start=datetime(2026, 1, 31))",
)


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
    sources = {"right": RIGHT, **{f"wrong_{number}": source for number, source in enumerate(WRONG)}}
    errors = checked(tmp_path, sources)
    assert errors.pop("right") == ""
    accepted = [sources[name] for name, error in errors.items() if not error]
    assert accepted == []
