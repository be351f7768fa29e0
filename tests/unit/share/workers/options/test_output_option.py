"""Outputs of a handler beside what others of its worker write."""

from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share import RetryTopics, Worker


def handle(value: bytes) -> Any:
    return value


@pytest.mark.parametrize("retried_first", [True, False])
def test_no_handler_writes_its_results_to_a_retry_topic(*, retried_first: bool) -> None:
    worker = Worker("g", bootstrap_servers="localhost:9092")
    retried = worker.handler(
        "a", name="retried", retry_topics=RetryTopics("a.retry", (10, 60)), dead_letters="a.dead", output="fine"
    )
    writes = worker.handler("b", name="writes", output=["fine", "a.retry.1m"])
    first: Any = retried if retried_first else writes
    second: Any = writes if retried_first else retried
    first(handle)
    with pytest.raises(ConfigurationError, match=r"writes: output='a\.retry\.1m' is a retry topic of handler retried"):
        second(handle)


def test_nor_to_its_own() -> None:
    worker = Worker("g", bootstrap_servers="localhost:9092")
    with pytest.raises(ConfigurationError, match=r"handle: output='a\.retry\.10s' is a retry topic of handler handle"):
        worker.handler("a", retry_topics=RetryTopics("a.retry"), dead_letters="a.dead", output="a.retry.10s")(handle)
