"""Judges a run when everything has ended: what the brokers archived, and whether each record has a good end."""

from collections.abc import Iterator

from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.types import RecordId
from tests.simulation.workers.dead_letter_topic import DeadLetterLog
from tests.simulation.workers.plan import Plan, Profile
from tests.simulation.workers.sent_acknowledgements import SentAcknowledgements

__all__ = ["judge_results"]


def judge_results(world: SimulatedWorld, plan: Plan, sent: SentAcknowledgements, letters: DeadLetterLog) -> None:
    """Check every record that the brokers have archived. The verdict of all simulations reports what is unfinished."""
    for each in plan.by_handler:
        _judge_topic(world, each, sent, letters)


def _judge_topic(world: SimulatedWorld, plan: Plan, sent: SentAcknowledgements, letters: DeadLetterLog) -> None:
    for place in _archived(world, plan.topic, sent):
        world.struck["archived"] += 1
        spent = len(sent.spent[place])
        is_spent = plan.delivery_limit - sent.unseen <= spent <= plan.delivery_limit
        is_copied = letters.is_copied(place)
        world.struck["archived without a copy"] += plan.has_letters and not is_copied
        if plan.profile is Profile.OUTAGES or (plan.profile is Profile.KILLS and not is_spent):
            _violation(world, place, f"was archived, and {spent} of {plan.delivery_limit} deliveries were spent")
        must_be_copied = (
            plan.has_letters and place not in letters.refused
        )  # if it was, each process may have died first
        if plan.profile is Profile.KILLS and must_be_copied and not is_copied:
            _violation(world, place, "was archived, and has no dead letter")


def _archived(world: SimulatedWorld, name: str, sent: SentAcknowledgements) -> Iterator[RecordId]:
    topic, ledger = world.cluster.metadata.topic(name), sent.ledger
    assert topic is not None
    for led in topic.partitions:
        partition = topic.topic_id_partition(led.partition)
        for offset in range(world.cluster.logs.get(topic.topic_id, led.partition).end_offset):
            place = partition, offset
            is_ended = place in ledger.accepted or place in ledger.rejected or ledger.is_unanswered(place)
            if not is_ended and ledger.may_be_done(place):
                yield place


def _violation(world: SimulatedWorld, place: RecordId, what: str) -> None:
    world.violations.append(f"{shown(place)} {what}")
