"""Queues that take no letters: Kafka's reason for each, in the order in which Kafka looks, and the remedy."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.share_partitions.dead_letter_refusals import GroupQueue, refusal

GOOD = GroupQueue("invoices", "dlq.x", prefix="dlq.", exists=True, is_enabled=True, is_created=False)
NOT_ENABLED = "DLQ is not enabled on configured DLQ topic for share group: invoices, topic: {}."
MISSING = "DLQ topic does not exist and auto create is disabled on cluster for share group: invoices, topic: {}."
PREFIX = (
    "Configured DLQ topic name does not comply with the DLQ topic prefix in share group: invoices, topic: {}, "
    "prefix: dlq.."
)


@pytest.mark.parametrize(
    ("changes", "reason", "remedy"),
    [
        ({"topic": ""}, "Configured DLQ topic name in share group: invoices is empty.", "groups configs invoices"),
        ({"is_enabled": False}, NOT_ENABLED, "topics configs dlq.x --set errors.deadletterqueue.group.enable=true"),
        ({"topic": "x", "is_enabled": False}, NOT_ENABLED, "topics configs x --set"),
        ({"exists": False}, MISSING, "topics create dlq.x --set errors.deadletterqueue.group.enable=true"),
        ({"topic": "x", "exists": False}, MISSING, "topics create x --set"),
        ({"topic": "x"}, PREFIX, "groups configs invoices --set errors.deadletterqueue.topic.name=dlq.x"),
        ({"topic": "x", "exists": False, "is_created": True}, PREFIX, "groups configs invoices --set"),
    ],
)
def test_reasons(changes: dict[str, Any], reason: str, remedy: str) -> None:
    refused = refusal(evolve(GOOD, **changes))
    assert refused is not None
    assert refused.reason == reason.format(changes.get("topic", "dlq.x"))
    assert f"kafka-groups {remedy}" in refused.remedy
    assert str(refused) == f"{refused.reason} {refused.remedy}"


@pytest.mark.parametrize(
    "changes", [{}, {"exists": False, "is_enabled": False, "is_created": True}, {"topic": "x", "prefix": ""}]
)
def test_queues_that_take_letters(changes: dict[str, Any]) -> None:
    assert refusal(evolve(GOOD, **changes)) is None
