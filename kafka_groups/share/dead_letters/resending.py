"""Sends the dead letters of a topic again: those that a group has not handled yet, or a selection of the log."""

from collections.abc import Callable, Sequence

from attrs import frozen

from kafka_groups.client.assembly import Environment
from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.records.confirmed_writer import ConfirmedWriter
from kafka_groups.share.dead_letters.confirmed_letters import ConfirmedLetterWriter
from kafka_groups.share.dead_letters.group_resending import GroupResending
from kafka_groups.share.dead_letters.letter_planner import LetterPlanner, PlannedLetter
from kafka_groups.share.dead_letters.letter_sender import LetterResult, LetterSender
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from kafka_groups.share.dead_letters.rules.sending import SendingRules
from kafka_groups.share.dead_letters.selected_letters import SelectedLetters
from kafka_groups.share.dead_letters.topic import DeadLetterTopic

__all__ = ["Resending", "ResendingRequest"]


@frozen
class ResendingRequest:
    """The dead letters to send again.

    Attributes:
        selection: The selection. If it selects everything, those that the group has not handled are sent.
        count: The largest number of them; None: all.
        rules: Decides about each.
    """

    selection: DeadLetterSelection
    count: int | None
    rules: SendingRules


class Resending:
    """Sends the dead letters of a topic again.

    Args:
        topic: The topic.
        request: The dead letters to send.
        config: How to reach the brokers.
        timeout_ms: The longest wait for brokers, for dead letters that are there, and for a confirmation.
        environment: Network, clock and randomness.

    Attributes:
        group: The group that remembers; None if a selection is sent.
    """

    def __init__(
        self,
        topic: DeadLetterTopic,
        request: ResendingRequest,
        config: ClientConfig,
        timeout_ms: int,
        environment: Environment | None = None,
    ) -> None:
        self.group = None if request.selection else GroupResending(topic, config, timeout_ms, environment)
        self._topic = topic
        self._request = request
        self._config = config
        self._timeout_ms = timeout_ms
        self._environment = environment
        self._planner = LetterPlanner(topic, request.rules)

    def __repr__(self) -> str:
        return f"<Resending {self._request}: {self.group or self._topic!r}>"

    async def plan(self) -> Sequence[PlannedLetter]:
        """Return a decision about each dead letter. Nothing is sent, and no group is joined.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        if self.group is None:
            return await self._selected().plan(self._planner)
        bounds = (await self.group.left()).bounds
        return await SelectedLetters(self._topic, EVERYTHING, self._request.count, bounds).plan(self._planner)

    async def most(self) -> int | None:
        """Return the largest number of dead letters that would be sent. None: only reading them all would tell.

        Raises:
            KafkaGroupsError: The brokers do not tell.
        """
        given = self._request.count
        if self.group is None:
            return given
        left = (await self.group.left()).count
        return left if given is None else min(left, given)

    async def send(self, most: int | None, report: Callable[[LetterResult], None]) -> None:
        """Send dead letters, until one could not be written.

        Args:
            most: The result of `most`.
            report: Receives the result of each.

        Raises:
            KafkaGroupsError: They cannot be read, or the group cannot be used.
        """
        writer = ConfirmedWriter(self._config, self._environment, principal=principal_of(self._config))
        try:
            sender = LetterSender(self._planner, ConfirmedLetterWriter(writer, self._timeout_ms))
            if self.group is None:
                await self._selected().send(sender, report)
            elif most:
                await self.group.begin_at_start()
                await self.group.send(sender, most, report)
        finally:
            await writer.close()

    def _selected(self) -> SelectedLetters:
        return SelectedLetters(self._topic, self._request.selection, self._request.count)
