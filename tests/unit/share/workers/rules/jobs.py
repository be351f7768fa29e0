"""Records without bytes for the rules of handler workers, and what a handler makes of each."""

import enum
import random
import uuid
from typing import Any

from attrs import define, field

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import ParseError, Reject, Retry
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.share.workers.rules.retry_topics.retry_rules import RetryRules
from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

__all__ = [
    "DEAD",
    "EPOCH_MS",
    "PARTITIONS",
    "RETRIED",
    "HandlerPlan",
    "Harmless",
    "Job",
    "Nature",
    "Ruled",
    "Unwanted",
    "dead_letter",
    "failure_rules",
    "record_id",
    "retry_rules_of_jobs",
]

DEAD = "orders.dead"
EPOCH_MS = 1_700_000_000_000
"""The time since the epoch at the time 0 of the rules."""
TOPIC = uuid.UUID(int=29)
PARTITIONS = (TopicIdPartition(TOPIC, 0, "orders"), TopicIdPartition(TOPIC, 1, "orders"))
RETRIED = TopicIdPartition(uuid.UUID(int=30), 0, "orders.retry")
"""The partition of all retry topics, as one member reads them."""


def dead_letter(opened: OpenRecord[Any]) -> RecordToWrite:
    """A dead letter, which says what it is a copy of."""
    return RecordToWrite(DEAD, None, None, (("place", repr(opened.place).encode()),))


class Harmless(Exception):  # noqa: N818 - the handler's words
    """An error that a rule accepts."""


class Ruled(Exception):  # noqa: N818 - the handler's words
    """An error with waits of its own."""


class Unwanted(Exception):  # noqa: N818 - the handler's words
    """An error for which a rule releases the record."""


class Nature(enum.Enum):
    """What a handler makes of a record while the sink works."""

    GOOD = "good"
    POISON = "poison"
    FLAKY = "flaky"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    HARMLESS = "harmless"
    RULED = "ruled"
    UNWANTED = "unwanted"
    PATIENT = "patient"


@define(eq=False)
class Job:
    """One delivery of a record.

    Attributes:
        place: Its partition and offset.
        count: The delivery count.
        key: Its key, or None.
        attempts: How often a handler began it in this delivery.
        error: What its last attempt raised, or None.
        ended: The number of attempts that had ended when its last one ended, itself included.
        settled: How it was acknowledged, or None.
        is_gone: Whether the broker has taken it back.
        is_lost: Whether the rules know that.
        is_done_already: Whether an earlier delivery has succeeded in this process, so that nothing may run it.
        may_be_released: Whether the driver asked for its release.
        is_writing: Whether its outputs are not confirmed.
        state: What its headers say, if it comes from a retry topic.
        moved_ms: When it was written to its retry topic, since the epoch.
    """

    place: RecordId
    count: int = 1
    key: str | None = None
    attempts: int = 0
    error: Exception | None = None
    ended: int = 0
    settled: AcknowledgeType | None = None
    is_gone: bool = False
    is_lost: bool = False
    is_done_already: bool = False
    may_be_released: bool = False
    is_writing: bool = False
    state: RetryState | None = None
    moved_ms: int | None = None

    def __repr__(self) -> str:
        return f"<{self.place[0].partition}@{self.place[1]} #{self.count}>"

    @property
    def first_place(self) -> RecordId:
        """The place of the first record."""
        if self.state is None:
            return self.place
        return PARTITIONS[self.state.origin.partition], self.state.origin.offset

    @property
    def all_attempts(self) -> int:
        """How often a handler began it, in all topics."""
        return self.attempts + (0 if self.state is None else self.state.attempts)

    @property
    def is_in_hand(self) -> bool:
        """True from its arrival until it is acknowledged or lost."""
        return self.settled is None and not self.is_lost


def origin_of(job: Job) -> RecordOrigin:
    """Return the place of the first record."""
    if job.state is not None:
        return job.state.origin
    (partition, offset) = job.place
    return RecordOrigin(partition.topic or "", partition.partition, offset)


def retry_rules_of_jobs(topics: RetryTopics) -> RetryRules[Job]:
    """Return the way of jobs into retry topics."""
    return RetryRules(
        topics=topics,
        group="shop",
        handler="invoice",
        origin_of=origin_of,
        copy_of=lambda job, topic, headers: RecordToWrite(topic, None, None, (("own", b"1"), *headers)),
        timestamp_of=lambda job: job.moved_ms,
        wall_ms=lambda now_ms: now_ms + EPOCH_MS,
    )


def record_id(job: Job) -> RecordId:
    """Return the place of a record."""
    return job.place


@define
class HandlerPlan:
    """A handler: what becomes of an attempt depends on the record's nature and on the sink.

    Attributes:
        rng: Draws the natures.
        is_down: Whether the sink is down.
        natures: The natures of the records so far, by place.
        fails: How often a record still fails, if that ends.
        good: The number of good records for each kind of others.
    """

    rng: random.Random
    is_down: bool = False
    natures: dict[RecordId, Nature] = field(factory=dict)
    fails: dict[RecordId, int] = field(factory=dict)
    good: int = 1

    def nature_of(self, place: RecordId) -> Nature:
        """Return the nature of a record, which is drawn when it is first needed. Usually, half of them are good."""
        if place not in self.natures:
            self.natures[place] = self.rng.choice([Nature.GOOD] * len(Nature) * self.good + list(Nature))
            self.fails[place] = self.rng.randint(1, 4)
        return self.natures[place]

    def attempt(self, job: Job) -> Exception | None:
        """Return what an attempt raises; None for success."""
        nature = self.nature_of(job.first_place)
        if nature is Nature.UNREADABLE:
            return ParseError(ValueError("no JSON"))
        if self.is_down:
            return ConnectionError("the sink is down")
        if nature in (Nature.FLAKY, Nature.PATIENT):
            self.fails[job.first_place] -= 1
            if self.fails[job.first_place] < 0:
                return None
        return _error_of(nature)


def _error_of(nature: Nature) -> Exception | None:
    errors = {
        Nature.POISON: ValueError("poison"),
        Nature.FLAKY: ValueError("flaky"),
        Nature.REJECTED: Reject("bad"),
        Nature.HARMLESS: Harmless("never mind"),
        Nature.RULED: Ruled("ruled"),
        Nature.UNWANTED: Unwanted("elsewhere"),
        Nature.PATIENT: Retry("later", after=3),
    }
    return errors.get(nature)


def failure_rules(exhausted: OnError = OnError.DEAD_LETTER, times: int = 2) -> FailureRules:
    """Return rules with short waits, and one rule for each class of this module."""
    return FailureRules(
        retries=Backoff(first=1, most=4, times=times),
        exhausted=exhausted,
        errors={
            Harmless: OnError.ACCEPT,
            Ruled: Backoff(first=0.5, most=2, times=2),
            Unwanted: OnError.RELEASE,
        },
        outages=(ConnectionError,),
    )
