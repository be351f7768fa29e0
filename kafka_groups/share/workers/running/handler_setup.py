"""The rules and the consumer of a member of a handler, from its declaration and what its worker was given."""

from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import Clock
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec, record_key
from kafka_groups.share.workers.options.retry_option import longest_wait_s
from kafka_groups.share.workers.rate_limits import rate_rule
from kafka_groups.share.workers.rules.dead_letter_headers import makes_dead_letters, record_id
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handler_rate import HandlerRate
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.running.handler_group import HandlerGroup
from kafka_groups.share.workers.running.members.handler_members import HandlerMember
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings

__all__ = ["WorkerConsumer", "connection_of", "handler_rate", "handling_rules", "worker_consumer"]

WorkerConsumer = AsyncKafkaShareConsumer[bytes, bytes]

# One run in the queue is enough to keep a thread busy while the driver prepares the next.
_MOST_QUEUED = 1


def handling_rules(member: HandlerMember, group: HandlerGroup, clock: Clock) -> HandlingRules[AnyRecord]:
    """Return the rules of a member of a handler in its group.

    Args:
        member: The member.
        group: The facts about the group.
        clock: Says how far the time since the epoch is ahead of the time that the rules get.

    Raises:
        ConfigurationError: A rule needs a topic for dead letters, and there is none.
    """
    spec, policy = member.spec, DeliveryPolicy(group.delivery_limit)
    has_dead_letters = spec.dead_letters is not None or group.dead_letter_topic is not None
    # Refused at the start and not when the first record fails: without a topic, the record could only be lost.
    rules = [*spec.errors.values(), spec.exhausted, spec.on_blocked]
    if OnError.DEAD_LETTER in rules and not has_dead_letters:
        raise ConfigurationError(
            f"handler {spec.name}: OnError.DEAD_LETTER needs a topic for dead letters: set dead_letters=, or the group"
            " configuration errors.deadletterqueue.topic.name (Kafka 4.4)"
        )
    return HandlingRules(
        failures=FailureRules(
            retries=spec.retries,
            # Rejecting without a copy would lose the record, so without a topic it is held, and the log says how to
            # change that.
            exhausted=spec.exhausted or (OnError.DEAD_LETTER if has_dead_letters else OnError.HOLD),
            errors=spec.errors,
            outages=spec.outages,
            longest_wait_s=longest_wait_s(spec.retry_topics),
        ),
        policy=policy,
        delay=member.delay_rules(policy),
        concurrency=spec.concurrency,
        buffer=spec.buffer,
        dead_letter=None if spec.dead_letters is None else makes_dead_letters(spec.dead_letters, member.worker_group),
        record_locks=group.record_locks,
        record_id=record_id,
        key_of=record_key if spec.order_by == "key" else spec.order_by,
        batch=spec.batch,
        on_blocked=spec.on_blocked,
        retry=member.retry_rules(clock),
        # Tasks begin at once and need no queue, and a batch that waits in one could not grow any more.
        # An attempt with a rate limit starts when its token is taken.
        queued=0 if spec.is_async or spec.batch or spec.rate_limit else min(spec.concurrency, _MOST_QUEUED),
    )


def handler_rate(spec: HandlerSpec, processes: int) -> HandlerRate | None:
    """Return the tokens of a handler in one of so many processes; None without a rate limit."""
    return None if spec.rate_limit is None else HandlerRate(rate_rule(spec.rate_limit, processes))


def worker_consumer(settings: RuntimeSettings, group_id: str) -> WorkerConsumer:
    """Return a consumer of a handler, which is not in the group yet."""
    # These keys belong to the worker. Records are acknowledged one by one after their handlers, so the mode is
    # explicit, and locks are renewed for as long as they are in hand.
    owned = {"group_id": group_id, "acknowledgement_mode": "explicit", "auto_renew": True}
    return AsyncKafkaShareConsumer({**settings.given, **owned}, environment=settings.environment or Environment())


def connection_of(settings: RuntimeSettings) -> tuple[ShareConsumerConfig, Environment]:
    """Return what a client of its own needs, for questions that no consumer of a handler can ask."""
    return share_consumer_config(settings.given, group_id=settings.group_id), settings.environment or Environment()
