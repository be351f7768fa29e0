"""The members of a handler: one of the worker's group for its own topics, and one for each of its retry topics.

Retry topics are read in a share group of their own, the worker's with `-retry` behind its name.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from kafka_groups.net.clock import Clock
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.member_names import retry_member_name
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules, forward_from
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic
from kafka_groups.share.workers.rules.retry_topics.retried_records import retried_record, retry_state_of
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.share.workers.rules.retry_topics.retry_rules import RetryRules, retry_rules
from kafka_groups.share.workers.rules.retry_topics.written_again import forwarded_record, untried_state
from kafka_groups.share.workers.start_option import EARLIEST, GroupStart

__all__ = ["HandlerMember", "group_starts", "members_of", "retry_group"]


def retry_group(group_id: str) -> str:
    """Return the share group that reads the retry topics of a worker."""
    return f"{group_id}-retry"


@frozen
class HandlerMember:
    """One member of a handler.

    Attributes:
        handler: The handler.
        worker_group: The share group of the worker.
        retry_topic: The retry topic that it reads; None for the handler's own topics.
    """

    handler: HandlerSpec
    worker_group: str
    retry_topic: RetryTopic | None = None

    @property
    def is_retry(self) -> bool:
        """True if it reads a retry topic."""
        return self.retry_topic is not None

    @property
    def group_id(self) -> str:
        """The share group that it is a member of."""
        return retry_group(self.worker_group) if self.is_retry else self.worker_group

    @property
    def spec(self) -> HandlerSpec:
        """The handler as its driver, logs and metrics see it: with the topics that this member reads."""
        if self.retry_topic is None:
            return self.handler
        topic = self.retry_topic.topic
        name = retry_member_name(self.handler, topic)
        return evolve(self.handler, name=name, topics=(topic,), delay_ms=None)

    def arrived(self, record: AnyRecord) -> AnyRecord:
        """Return a record as the rules get it: one of a retry topic without the headers that are not its own."""
        return retried_record(record, self.worker_group, self.handler.name) if self.is_retry else record

    def delay_rules(self, policy: DeliveryPolicy) -> DelayRules[AnyRecord] | None:
        """Return when its records may run; None if they may run at once.

        Args:
            policy: The rules for delivery counts in its group.
        """
        delay_ms = self.handler.delay_ms if self.retry_topic is None else self.retry_topic.delay_ms
        if delay_ms is None:
            return None
        return DelayRules(
            delay_ms=delay_ms,
            timestamp_of=_timestamp_of,
            state_of=retry_state_of if self.is_retry else None,
            retry_topics=self.handler.retry_topics,
            write_again=self._write_again,
            forward_from=forward_from(policy),
        )

    def retry_rules(self, clock: Clock) -> RetryRules[AnyRecord] | None:
        """Return the way of its records into retry topics; None if the handler has no retry topics."""
        topics = self.handler.retry_topics
        return None if topics is None else retry_rules(topics, self.worker_group, self.handler.name, clock)

    def _write_again(
        self, record: AnyRecord, state: RetryState | None, deaths: int, topic: RetryTopic
    ) -> RecordToWrite:
        if state is None:
            due_ms = (record.timestamp or 0) + (self.handler.delay_ms or 0)
            state = untried_state(record, self.worker_group, self.handler.name, due_ms)
        return forwarded_record(record, evolve(state, deaths=deaths), topic)


def _timestamp_of(record: AnyRecord) -> int | None:
    return record.timestamp


def members_of(handler: HandlerSpec, group_id: str) -> Sequence[HandlerMember]:
    """Return the members of a handler in one process: first that for its own topics."""
    topics = () if handler.retry_topics is None else handler.retry_topics.topics
    retries = [HandlerMember(handler, group_id, topic) for topic in topics]
    return [HandlerMember(handler, group_id), *retries]


def group_starts(start: GroupStart | None, handlers: Sequence[HandlerSpec], group_id: str) -> Sequence[GroupStart]:
    """Return where the groups of a worker begin.

    Args:
        start: Where the worker's group begins; None leaves it to the group.
        handlers: The handlers.
        group_id: The worker's group.
    """
    starts = [] if start is None else [start]
    # With another start, a record that is written to a retry topic before the first fetch of its partition, or to a new
    # partition, would be skipped and lost.
    declared = next(
        (f"retry_topics of handler {each.name}" for each in handlers if each.retry_topics is not None), None
    )
    return starts if declared is None else [*starts, GroupStart(retry_group(group_id), EARLIEST, declared)]
