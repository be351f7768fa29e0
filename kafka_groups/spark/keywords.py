"""The keyword arguments of workers and drains, so that editors complete them and type checkers check them.

Made by `python -m tests.generating.keywords` from
workers/worker_options.py and draining/drain_options.py.
Edit those and run it again; do not edit this module.
"""

from collections.abc import Callable

from kafka_groups.config.clients.keywords import ShareConsumerKeywords

__all__ = ["DrainKeywords", "WorkersKeywords"]


class DrainKeywords(ShareConsumerKeywords, total=False):
    """The keyword arguments of `drain`: the attributes of `DrainOptions`, and a consumer's."""

    max_records: int
    max_bytes: int
    idle_seconds: float
    max_seconds: float
    on_lock_lost: str
    dead_letter_topic: str | None
    backoff_seconds: float
    go_on_file: str | None


class WorkersKeywords(ShareConsumerKeywords, total=False):
    """The keyword arguments of `ShareWorkers`: the attributes of `WorkerOptions`, and a consumer's."""

    max_records: int
    max_seconds: float
    on_error: str
    backoff_seconds: float
    go_on_file: str | None
    dead_letter_topic: str | None
    on_result: Callable[..., object] | None
    idle_close_seconds: float
    log_level: str
