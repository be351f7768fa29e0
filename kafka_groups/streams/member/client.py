"""The part of a member that sends and receives.

Call all methods on the event loop's thread, but for the application's side of the hand-over.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from kafka_groups.acls import AclOperation
from kafka_groups.admin.rules.group_offsets import commit_question, fetch_question
from kafka_groups.client.assembly import Assembly
from kafka_groups.client.calls.asker import QuestionAsker
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.client.loggers import GROUP_LOG, write_event
from kafka_groups.client.membership.group_metadata import AsMember
from kafka_groups.client.membership.metrics import values_of
from kafka_groups.client.requests import NEVER_MS, RequestManager
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.errors import (
    ClosedError,
    FencedInstanceIdError,
    FencedMemberEpochError,
    IllegalGenerationError,
    IllegalStateError,
    OperationTimeoutError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    TasksLostError,
    UnknownMemberIdError,
    UnknownTopicIdError,
)
from kafka_groups.errors.texts import named
from kafka_groups.streams.member.membership_parts import MembershipOf, MembershipParts, TaskPositions
from kafka_groups.streams.member.rules.committed_topics import CommittedTopics, identifying
from kafka_groups.streams.member.rules.committing_member import REMEDY, CommittingMember, member_of_all_tasks
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StatusesChanged,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
    is_shutdown,
)
from kafka_groups.streams.member.rules.member_metrics import MEMBER_METRICS, ROUND_METRICS, MemberSources, RoundSources
from kafka_groups.streams.member.rules.states import IN_GROUP, MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition

__all__ = ["StreamsClient"]

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

# ILLEGAL_GENERATION is the answer of a classic group (ClassicGroup.validateOffsetCommit in Kafka), which the group may
# have become while the member was away. So is FENCED_INSTANCE_ID, if another process has the member's instance id.
_REMOVED = (FencedInstanceIdError, FencedMemberEpochError, IllegalGenerationError, UnknownMemberIdError)
"""Errors of a commit from a member that the coordinator has removed."""


class StreamsClient:
    """The membership, the calls about committed offsets, and the engine that drives both.

    Args:
        config: The member's configuration.
        membership_of: Makes the membership, by the kind of group.
        description: What the member tells its group about itself.
        positions: Returns the positions of tasks.
        assembly: What all clients are made of.

    Attributes:
        membership: The member's side of the protocol.
        refusals: Explains the errors with which the coordinator refuses the member for good.
        on_news: Called after a turn if there is something for the application's next call: events or an error.
        shutdown_told: Whether the application has heard that all members have to shut down.
    """

    def __init__(
        self,
        config: StreamsMemberConfig,
        membership_of: MembershipOf,
        description: MemberDescription,
        positions: TaskPositions,
        assembly: Assembly,
    ) -> None:
        self._config = config
        self._assembly = assembly
        self._clock = assembly.clock
        self._errors = assembly.errors
        self._positions = positions
        self._known_positions: Mapping[TaskId, TaskPosition] = {}
        self._waits: set[asyncio.Event] = set()
        self.on_news: Callable[[], None] | None = None
        self.shutdown_told = False
        coordinator = assembly.coordinator(config.application_id)
        made = membership_of(
            MembershipParts(
                config, description, assembly, coordinator, self._positions_of_application, lambda: self._engine
            )
        )
        self.membership = made.membership
        self.refusals = made.refusals
        self._leader = made.leader
        self._topics = CommittedTopics(assembly.metadata.id_of)
        self._asker = QuestionAsker(assembly, config.request_timeout_ms, lambda: self._engine)
        metadata = assembly.metadata_manager(
            max_age_ms=config.metadata_max_age_ms, allow_auto_create=False, purpose=AclOperation.READ
        )
        metadata.set_topics(description.topology.source_topics)
        managers: tuple[RequestManager, ...] = (self.membership, coordinator, metadata, self._asker.manager)
        self._engine = assembly.engine((*managers, *made.managers), self._after_turn)

    def __repr__(self) -> str:
        return f"<StreamsClient {self.membership!r}>"

    @property
    def config(self) -> StreamsMemberConfig:
        """The member's configuration."""
        return self._config

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that the client lives on, while it runs."""
        return self._engine.loop

    @property
    def state(self) -> MembershipState:
        """The state of the membership, or that no broker answers; may be asked from any thread."""
        state = self.membership.state
        is_out_of_reach = self._assembly.reachability.unreachable_since_ms is not None
        return MembershipState.UNREACHABLE if is_out_of_reach and state in IN_GROUP else state

    def metrics(self) -> Mapping[str, float]:
        """Return the metrics by name; may be called from any thread."""
        sensors = self.membership.sensors
        sources = MemberSources(
            self._clock.now_ms(),
            self._assembly.reachability,
            sensors.member,
            state=self.state,
            owned=self.membership.owned,
            unconfirmed=self.membership.unconfirmed,
            unconfirmed_since_ms=self.membership.unconfirmed_since.since_ms,
            sensors=sensors,
        )
        values = values_of(MEMBER_METRICS, sources)
        if sensors.rounds is None:
            return values
        return {**values, **values_of(ROUND_METRICS, RoundSources(sources.now_ms, sensors.rounds))}

    # ------------------------------------------------------------------------------- the membership

    def join(self) -> None:
        """Start if necessary, and join the group."""
        if self._engine.loop is None:
            self._engine.start()
        self.membership.join(self._clock.now_ms())
        self._engine.turn()

    def attend(self) -> None:
        """Read what the application has noted. A member that has left because it stayed away joins again."""
        self.membership.application_called(self._clock.now_ms())
        self._engine.turn()

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Note that the application has closed the tasks of an event."""
        now_ms = self._clock.now_ms()
        self._topics.end(event.tasks, self.membership.description.topology)
        self.membership.sensors.confirmed(event, now_ms)
        self.membership.confirm(event, now_ms)
        self._engine.turn()

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down."""
        self.membership.request_shutdown()
        self._engine.turn()

    async def leave(self, operation: GroupMembershipOperation, timeout_ms: int) -> None:
        """Leave the group and wait until the coordinator knows, but not longer than the timeout."""
        self.membership.leave(operation)
        self._engine.turn()
        # A fatal error ends the wait as well: whatever refuses the member refuses its leaving, too.
        if not await self.until(lambda: self.membership.has_left or self._errors.fatal is not None, timeout_ms):
            self.membership.give_up_leaving()  # the coordinator finds out by itself

    async def close(self, operation: GroupMembershipOperation, timeout_ms: int) -> None:
        """Leave the group, and close all connections."""
        if not self._engine.is_running:
            return
        member_id = self.membership.member_id  # one of a classic group has none any more when it has left
        # One heartbeat has request.timeout.ms to be answered. A longer wait would only repeat what did not arrive.
        await self.leave(operation, min(timeout_ms, self._config.request_timeout_ms))
        await self.abort()
        self._write_log()
        GROUP_LOG.info("Closed member %s of the group %s.", member_id, self._config.application_id)

    async def abort(self) -> None:
        """Close all connections without telling the coordinator, which removes the member when its session ends."""
        self._asker.manager.fail(ClosedError("The member was closed."))
        if self._leader is not None:
            await self._leader.stop()
        await self._engine.stop()

    # ------------------------------------------- the application's side of the hand-over, on any thread

    @property
    def is_needed(self) -> bool:
        """True if the application's next poll needs the loop: the member joins again, or leaves, or never joined."""
        state = self.membership.state
        return self.shutdown_told or state is MembershipState.STALE or state is MembershipState.UNJOINED

    def polled(self) -> None:
        """Note that the application polls. The loop reads that at its next turn."""
        now_ms = self._clock.now_ms()
        self.membership.sensors.polled(now_ms)
        self.membership.calls.called(now_ms)

    def waited(self) -> None:
        """Note that a poll ends that had to wait."""
        now_ms = self._clock.now_ms()
        self.membership.sensors.waited(now_ms)
        self.membership.calls.waited(now_ms)

    def take_events(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events for the application.

        Raises:
            KafkaGroupsError: An error in the background.
        """
        events = self.membership.take_events()
        # Events come first, because a program has to close its tasks even if an error waits behind them.
        if not events:
            self._errors.raise_first()
            return events
        self.membership.sensors.took(events, self._clock.now_ms())
        told = [event for event in events if isinstance(event, StatusesChanged)]
        # The last status counts: one that came before may be over.
        self.shutdown_told = is_shutdown(told[-1]) if told else self.shutdown_told
        return events

    # ------------------------------------------------------------------------------------- offsets

    def hold(self) -> bool:
        """Keep the member in its epoch for a commit; see `GroupMembership.hold`."""
        return self.membership.hold()

    def release(self) -> None:
        """End what `hold` has begun."""
        self.membership.release()
        self._engine.turn()

    async def ask_group(self, timeout_ms: int) -> None:
        """Ask the coordinator with a heartbeat whether the group still has the member, and wait for the answer.

        Without an answer in time, nothing is known, and nothing happens.

        Raises:
            KafkaGroupsError: The coordinator has refused the member for good.
        """
        membership, life, wanted = self.membership, self.membership.life, self._heartbeat_again()

        def told() -> bool:
            return membership.heard >= wanted or membership.life != life or self._errors.fatal is not None

        await self.until(told, timeout_ms)
        if self._errors.fatal is not None:
            raise self._errors.fatal

    def as_member(self) -> AsMember:
        """Return who the member is now, for offsets of any of its tasks.

        Raises:
            TasksLostError: It has lost tasks that the program has not closed.
            IllegalStateError: It is not in the group.
            KafkaGroupsError: The coordinator refused the member for good.
        """
        if self._errors.fatal is not None:
            raise self._errors.fatal
        return member_of_all_tasks(self.membership)

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        timeout_ms: int,
        topic_ids: Mapping[TopicPartition, UUID],
    ) -> None:
        """Commit offsets that are from the topics with these ids, as far as they are known.

        Raises:
            TasksLostError: The member lost the tasks.
            KafkaGroupsError: Another error of the group or of a partition.
        """
        who, begun_ms = CommittingMember(self.membership, offsets), self._clock.now_ms()
        await self._ask_as(who, commit_question(self._config.application_id, offsets, who, topic_ids), timeout_ms)
        now_ms = self._clock.now_ms()
        self.membership.sensors.committed(now_ms - begun_ms, now_ms)

    async def commit_as_known(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: int) -> None:
        """Commit offsets of the topics that have these names, or had them at the first commit of each partition.

        Raises:
            UnknownTopicIdError: A topic was deleted and made again since then.
            TasksLostError: The member lost the tasks.
            KafkaGroupsError: Another error of the group or of a partition.
        """
        deadline_ms = self._clock.now_ms() + timeout_ms
        ids = self._topics.ids(offsets)
        try:
            await self.commit(offsets, timeout_ms, ids)
        except UnknownTopicIdError as error:
            topics = {place.topic for place in offsets}
            self._topics.learn(topics, await self.ask(identifying(topics), "", deadline_ms))
            if (refusal := self._topics.refusal(offsets)) is not None:
                raise refusal from error
            # The member's metadata were behind.
            ids = self._topics.ids(offsets)
            await self.commit(offsets, max(deadline_ms - self._clock.now_ms(), 0), ids)
        self._topics.note(ids)

    async def committed(
        self, partitions: Sequence[TopicPartition], timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets.

        Raises:
            TasksLostError: The member lost its tasks.
            KafkaGroupsError: Another error of the group or of a partition.
        """
        self._topics.begin(partitions)
        who = CommittingMember(self.membership)
        question = fetch_question(self._config.application_id, partitions, who)
        return dict((await self._ask_as(who, question, timeout_ms)).values)

    async def _ask_as(
        self, who: CommittingMember, question: Question[str, Results[K, V]], timeout_ms: int
    ) -> Results[K, V]:
        """Ask as a member, whose epoch may just have changed."""
        deadline_ms = self._clock.now_ms() + timeout_ms
        while True:
            try:
                return (await self.ask(question, question.keys[0], deadline_ms)).checked()
            except _REMOVED as error:
                # There are three cases. The coordinator does not know the member any more. The next heartbeat gets the
                # same answer, and its tasks are reported as lost without waiting for the interval.
                self._heartbeat_again()
                raise TasksLostError(f"The coordinator has removed the member from the group. {REMEDY}") from error
            except RebalanceInProgressError as error:
                # A classic group takes no offsets from the time when all have joined until they have their tasks. Only
                # a commit that could not wait comes then: see the gate before commits.
                raise TasksLostError(
                    "The group rebalances, so it does not take offsets now. The records since the last commit are"
                    " processed again."
                ) from error
            except StaleMemberEpochError as error:
                # Or the epoch was not the coordinator's. A request may cross with the response that raises the epoch,
                # so the member asks for its epoch with a heartbeat, and sends the request again if it has another one.
                # Without a newer epoch the refusal stands: Kafka accepts commits with an older epoch as long as the
                # task was not assigned anew since, and fetches with the current one only
                # (StreamsGroup.validateOffsetCommit and validateOffsetFetch).
                if not await self._has_newer_epoch(who, deadline_ms):
                    raise TasksLostError(
                        f"The coordinator refused the member's epoch {who.epoch}: another member owns the task, or"
                        f" owned it in between. {REMEDY}"
                    ) from error

    async def _has_newer_epoch(self, who: CommittingMember, deadline_ms: int) -> bool:
        """Ask the coordinator, and return whether there is another epoch than the one that was refused."""
        wanted = self._heartbeat_again()

        def told() -> bool:
            return who.is_outdated or self.membership.heard >= wanted or self._errors.fatal is not None

        if not await self.until(told, deadline_ms - self._clock.now_ms()):
            raise OperationTimeoutError(
                "The coordinator refused the member's epoch, and the current epoch is still unknown."
            )
        return who.is_outdated

    def _heartbeat_again(self) -> int:
        count = self.membership.ask_again()
        self._engine.turn()
        return count

    async def ask(self, question: Question[K, V], key: K, deadline_ms: int) -> V:
        """Ask the coordinator, again and again until the deadline.

        Raises:
            KafkaGroupsError: What the coordinator answered, or why it could not be asked.
        """
        return (await self._asker.within(deadline_ms - self._clock.now_ms())(question))[key]

    # ----------------------------------------------------------------------------------- after a turn

    def _positions_of_application(self) -> Mapping[TaskId, TaskPosition]:
        """Return the positions, or the last known ones if the application's function fails."""
        try:
            self._known_positions = dict(self._positions())
        except Exception as error:  # reported: the member itself can go on
            told = IllegalStateError(f"task_offsets failed, so the member reports the offsets before: {named(error)}")
            told.__cause__ = error
            self._errors.report(told)
        return self._known_positions

    def _after_turn(self) -> None:
        if self._leader is not None:
            self._leader.look()
        self._write_log()
        # A refused member has no epoch to commit with, so calls must not wait for their timeouts.
        if self._errors.fatal is not None:
            self._asker.manager.fail(self._errors.fatal)
        for wait in self._waits:
            wait.set()
        if self.on_news is not None and (self.membership.has_events or self._errors):
            self.on_news()

    async def until(self, found: Callable[[], T], timeout_ms: int) -> T:
        """Wait until a function returns something else than nothing, or the time is up. Return what it returns."""
        changed = asyncio.Event()
        self._waits.add(changed)
        try:
            async with asyncio.timeout(None if timeout_ms >= NEVER_MS else timeout_ms / 1000):
                while not (it := found()):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass  # `it` is nothing
        finally:
            self._waits.discard(changed)
        return it

    def _write_log(self) -> None:
        for event in self._errors.events.take():
            write_event(self._assembly.rate_limited_log, event)
