"""The keyword arguments of workers and drains, so that editors complete them and type checkers check them.

Made by `python -m tests.support.keywords` from kafka_groups/spark/worker_options.py and drain_options.py.
Edit those and run it again; do not edit this module.
"""

from kafka_groups.config.keywords import ShareConsumerKeywords

__all__ = ["DrainKeywords", "WorkersKeywords"]


class DrainKeywords(ShareConsumerKeywords, total=False):
    """The keyword arguments of `drain`."""

    max_records: int
    """Nothing more is acquired once this many records came; the last fetch may bring more."""

    max_bytes: int
    """Nothing more is acquired once this much was fetched, in bytes as it was on the wire. All of it, and what Spark
    makes of it, is in the driver's memory."""

    idle_seconds: float
    """The drain is complete when nothing came for this long, with partitions to fetch from."""

    max_seconds: float
    """Nothing more is acquired after this time, whatever came."""

    on_lock_lost: str
    """What happens when the brokers refuse the acceptance of records at the end, or do not answer: their locks were
    lost, and they are delivered again although they were processed. "warn" logs and counts them, "raise" raises
    `LockLostError` after everything else was accepted."""

    dead_letter_topic: str | None
    """Where copies of records go that are on one of their last deliveries, before the drain hands them out; None for
    nowhere."""


class WorkersKeywords(ShareConsumerKeywords, total=False):
    """The keyword arguments of `ShareWorkers`."""

    max_records: int
    """A task polls no more once it has had so many records; its last poll may bring more."""

    max_seconds: float
    """A task polls no more after this time."""

    on_error: str
    """What becomes of a batch when `process` raises. "release": all its records are given back, and the run raises.
    "per_record": each record is tried on its own, and what fails is given back. "reject": none is delivered again."""

    dead_letter_topic: str | None
    """Where copies of records go that are rejected, or that are on one of their last deliveries."""

    idle_close_seconds: float
    """How long a consumer waits for the next task before it leaves the group. Its partitions lie idle meanwhile, unless
    there are more workers than partitions; joining again takes a second or two. Less than the 60 s after which Spark
    ends an idle Python worker."""
