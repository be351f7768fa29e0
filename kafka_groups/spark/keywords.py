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
    """What happens to a batch when `process` still raises after the retries. "release": all its records are released,
    and the run raises. "per_record": the batch is halved again and again until the bad records are found, and only
    those are released. "reject": none is delivered again."""

    retry_seconds: float
    """How long a worker holds records that fail and calls `process` with them again, less and less often. It renews
    their locks meanwhile, so an outage of the sink spends none of their deliveries. The worker stops sooner once other
    records succeed, because then the sink works and the records are bad. 0 turns it off: the first error ends the run,
    which helps while you write `process`."""

    dead_letter_topic: str | None
    """Where copies of records go that are rejected, or that are on one of their last deliveries."""

    idle_close_seconds: float
    """How long a consumer waits for the next task before it leaves the group. Its partitions lie idle meanwhile, unless
    there are more workers than partitions; joining again takes a second or two. Less than the 60 s after which Spark
    ends an idle Python worker."""
