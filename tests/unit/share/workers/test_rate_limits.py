"""`rate_limit=`: its forms, and what is refused."""

from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share import RateLimit, Worker
from kafka_groups.share.workers.rate_limits import rate_rule
from kafka_groups.share.workers.rules.handler_rate import RateRule
from kafka_groups.share.workers.running.handler_setup import handler_rate

FORMS = r"give '10/s', '100/m', '1000/h' or RateLimit\(10, per=1.0, burst=10\)"


def handle(value: bytes) -> None: ...


def declared(limit: Any) -> RateLimit | None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("orders", rate_limit=limit)(handle)
    return worker.handlers[0].rate_limit


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (None, None),
        ("10/s", RateLimit(10)),
        (" 100 / m ", RateLimit(100, per=60)),
        ("1000/h", RateLimit(1_000, per=3_600)),
        (RateLimit(3, per=0.5, burst=7), RateLimit(3, per=0.5, burst=7)),
    ],
    ids=str,
)
def test_forms(given: Any, limit: RateLimit | None) -> None:
    assert declared(given) == limit


@pytest.mark.parametrize(
    "given",
    ["10", "0/s", "-1/s", "1.5/s", "10/d", "10 per s", "", "٣/s", "9999999/s", 10, 10.0, True, ("10", "s")],
    ids=repr,
)
def test_other_forms_are_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"^handler handle: rate_limit=.*: {FORMS}$|^rate_limit=.*: {FORMS}$"):
        declared(given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "RateLimit: count=0: give a whole number from 1 to 1,000,000"),
        ({"count": 1.5}, "count=1.5"),
        ({"count": True}, "count=True"),
        ({"count": 1, "per": 0}, "RateLimit: per=0: give seconds from 0.001 to 86,400"),
        ({"count": 1, "per": 100_000}, "per=100000"),
        ({"count": 1, "per": "s"}, "per='s'"),
        ({"count": 1, "per": float("nan")}, "per=nan"),
        ({"count": 1, "burst": 0}, "burst=0"),
        ({"count": 1, "burst": 10**7}, "burst=10000000"),
    ],
    ids=str,
)
def test_rates_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RateLimit(**arguments)


@pytest.mark.parametrize(
    ("limit", "processes", "rule"),
    [
        (RateLimit(10), 1, RateRule(10, 1_000, 10)),
        (RateLimit(10), 4, RateRule(10, 4_000, 3)),
        (RateLimit(100, per=60), 1, RateRule(100, 60_000, 2)),
        (RateLimit(1, per=3_600), 3, RateRule(1, 10_800_000, 1)),
        (RateLimit(10, burst=10), 4, RateRule(10, 4_000, 2)),
        (RateLimit(10, burst=1), 4, RateRule(10, 4_000, 1)),
        (RateLimit(5, per=0.001), 1, RateRule(5, 1, 5_000)),
    ],
    ids=str,
)
def test_each_process_has_its_part(limit: RateLimit, processes: int, rule: RateRule) -> None:
    assert rate_rule(limit, processes) == rule


def test_handlers_without_a_limit_have_no_tokens() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("orders")(handle)
    assert handler_rate(worker.handlers[0], 1) is None
