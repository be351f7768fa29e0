"""Decides about dead letters that are to be sent again: reads origins where it has to, and looks for the topics."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.sending import LetterToRead, LetterToSend, SendingRules, SkippedLetter
from kafka_groups.share.dead_letters.topic import DeadLetterTopic

__all__ = ["FailedLetter", "LetterPlanner", "PlannedLetter"]


@frozen
class FailedLetter:
    """A dead letter whose record cannot be written, or that may be sent twice."""

    place: RecordPlace
    error: KafkaGroupsError


PlannedLetter = LetterToSend | SkippedLetter | FailedLetter


class LetterPlanner:
    """Decides about dead letters of a topic.

    Args:
        topic: The dead-letter topic.
        rules: The rules.
    """

    def __init__(self, topic: DeadLetterTopic, rules: SendingRules) -> None:
        self._topic = topic
        self._rules = rules
        self._existing: set[str] = set()

    def __repr__(self) -> str:
        return f"<LetterPlanner of {self._topic!r}: {self._rules}>"

    async def plan(self, letters: Sequence[DeadLetterRecord]) -> Sequence[PlannedLetter]:
        """Decide about dead letters. Return a decision for each, in their order.

        Raises:
            KafkaGroupsError: Origins cannot be read, or the brokers do not tell about topics.
        """
        decisions = [self._rules.decide(letter) for letter in letters]
        found = await self._topic.origins(each.origin for each in decisions if isinstance(each, LetterToRead))
        decided = [
            self._rules.decide_found(each, found.get(each.origin)) if isinstance(each, LetterToRead) else each
            for each in decisions
        ]
        errors = await self._errors_of_topics({each.topic for each in decided if isinstance(each, LetterToSend)})
        return [_with_topic(each, errors) if isinstance(each, LetterToSend) else each for each in decided]

    async def _errors_of_topics(self, topics: set[str]) -> Mapping[str, KafkaGroupsError]:
        """Return the errors of topics that cannot be written to. Those that were there once are not looked for."""
        errors = await self._topic.errors_of_topics(topics - self._existing)
        self._existing |= topics - errors.keys()
        return errors


def _with_topic(planned: LetterToSend, errors: Mapping[str, KafkaGroupsError]) -> PlannedLetter:
    error = errors.get(planned.topic)
    if error is None:
        return planned
    if isinstance(error, UnknownTopicOrPartitionError):
        reason = f"The topic {planned.topic} does not exist."
        return SkippedLetter(planned.place, reason, "Create it, or use --to to send to another topic.")
    return FailedLetter(planned.place, error)
