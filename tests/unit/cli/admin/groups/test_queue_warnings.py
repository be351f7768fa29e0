"""Warnings about dead-letter queues to which brokers would write nothing."""

import pytest
from attrs import evolve

from kafka_groups.cli.admin.groups.queue_warnings import DeadLetterQueue, warnings_about

FINE = DeadLetterQueue("dlq.orders", exists=True, is_enabled=True, prefix="dlq.", is_created=False)


@pytest.mark.parametrize(
    "queue",
    [
        FINE,
        evolve(FINE, exists=False, is_enabled=None, is_created=True),
        evolve(FINE, name="letters", prefix=""),
        DeadLetterQueue("letters", exists=None, is_enabled=None, prefix=None, is_created=None),
    ],
    ids=["fine", "created by brokers", "any name", "nothing is known"],
)
def test_no_warning(queue: DeadLetterQueue) -> None:
    assert list(warnings_about(queue)) == []


@pytest.mark.parametrize(
    ("queue", "reason", "remedy"),
    [
        (
            evolve(FINE, exists=False, is_enabled=None),
            "Topic dlq.orders does not exist.",
            "kafka-groups topics create dlq.orders --set errors.deadletterqueue.group.enable=true",
        ),
        (
            evolve(FINE, is_enabled=False),
            "Topic dlq.orders is not enabled as a dead-letter queue.",
            "kafka-groups topics configs dlq.orders --set errors.deadletterqueue.group.enable=true",
        ),
        (
            evolve(FINE, name="letters"),
            "The name 'letters' does not begin with 'dlq.'",
            "kafka-groups brokers configs --all-brokers --set errors.deadletterqueue.topic.name.prefix=",
        ),
    ],
    ids=["missing", "not enabled", "prefix"],
)
def test_each_reason_comes_with_a_command(queue: DeadLetterQueue, reason: str, remedy: str) -> None:
    (warning,) = warnings_about(queue)
    assert warning.startswith(reason)
    assert warning.endswith(remedy)
