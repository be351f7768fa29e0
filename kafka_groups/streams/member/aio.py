"""The asynchronous member of a streams group."""

import logging
import warnings
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack
from uuid import UUID

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.client.assembly import Assembly, Environment
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.call_guard import CallGuard
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.event_loop import check_loop
from kafka_groups.client.membership.group_metadata import group_metadata_bytes
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.config.clients.connection import config_of
from kafka_groups.config.clients.keywords import StreamsMemberKeywords
from kafka_groups.config.clients.streams_member import StreamsMemberConfig, streams_member_config
from kafka_groups.config.clients.timeouts import (
    DEFAULT_CLOSE_TIMEOUT_S,
    NONE_IS_API_TIMEOUT,
    NONE_IS_CLOSE_TIMEOUT,
    checked_seconds,
    checked_timeout,
)
from kafka_groups.config.places import checked_partitions
from kafka_groups.errors import (
    ApplicationShutdownError,
    BrokerError,
    ConfigurationError,
    IllegalStateError,
    KafkaGroupsError,
)
from kafka_groups.streams.member.client import StreamsClient
from kafka_groups.streams.member.coordinated_membership import coordinated_membership
from kafka_groups.streams.member.member_arguments import check_operation, checked_commit, described
from kafka_groups.streams.member.member_view import _MemberView
from kafka_groups.streams.member.membership_parts import MembershipOf, TaskPositions
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:  # imported when an error needs it
    from kafka_groups.admin.rules.group_kinds import GroupKind

__all__ = ["AsyncStreamsGroupMember"]

_log = logging.getLogger(__name__)

_GROUP_TYPE_MS = 5_000
"""The time to find out which type a group has that is not a streams group."""


class AsyncStreamsGroupMember(_MemberView):
    """A member of a streams group (KIP-1071), for asyncio.

    The group coordinator assigns *tasks* to the members of a streams group. A task is one partition of all topics that
    a sub-topology reads. The member joins, sends heartbeats and tells your program which tasks it owns. Your program
    reads the partitions, keeps the stores and commits. Call `poll` in a loop and handle the events:

    - `TasksAssigned`: start these tasks, from the offsets that `committed` returns.
    - `TasksRevoked`: commit, close these tasks, and `confirm` the event. No other member gets them before that.
    - `TasksLost`: close these tasks without committing, and `confirm` the event.
    - `StatusesChanged`: what keeps the group from working, such as missing source topics. After the status
      `SHUTDOWN_APPLICATION`, commit and close your tasks: the next `poll` leaves the group and raises an error.

    Each assigned task ends with exactly one `TasksRevoked` or `TasksLost`. If the member has lost its tasks and your
    program has not received that event yet, `commit` raises `TasksLostError`: continue to poll.

    A member belongs to one event loop. Only one task may poll at a time; any task may call the other methods.
    Heartbeats are sent as long as your program lets the event loop run. Use it in an `async with` statement, or call
    `close`.

    Args:
        config: A dictionary of configuration keys by Kafka's dotted names.
        topology: The application's topology. All members of the group must have the same one.
        process_id: The id of the process. Members that share their stores use the same id, and keep it when the process
            restarts with its stores. None generates an id.
        number: Which member of its process this is, counted from 1. The instance id of a static member is
            `<group.instance.id>-<number>`.
        task_offsets: Returns the position of the stores of each task with state in this process, including tasks that
            the process does not own now. It is called on the event loop (of a blocking member: on its background
            thread) and must return at once.
        close_timeout: Longest wait for the coordinator in `close`, in seconds, also at the end of a `with` statement.
        environment: Another network or clock, for tests.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers` and `application_id`. The
            configuration reference lists them all.

    Raises:
        ConfigurationError: A key is unknown or has no effect on streams groups, or a value is invalid.
    """

    # In the blocking class, for the paragraph "A member of a streams group (KIP-1071), for asyncio.":
    #   A member of a streams group (KIP-1071); its methods block.
    # In the blocking class, for the paragraph "A member belongs to one event loop.":
    #   A background thread sends heartbeats while your program works. Only one thread may poll at a time; any thread
    #   may call the other methods. Use it in a `with` statement, or call `close`.

    def __init__(  # noqa: PLR0913 - all but the first by keyword
        self,
        config: StreamsMemberConfig | Mapping[str, object] | None = None,
        /,
        *,
        topology: GroupTopology,
        process_id: str | None = None,
        number: int = 1,
        task_offsets: TaskPositions = dict,
        close_timeout: float = DEFAULT_CLOSE_TIMEOUT_S,
        environment: Environment | None = None,
        _membership_of: MembershipOf = coordinated_membership,
        **keywords: Unpack[StreamsMemberKeywords],
    ) -> None:
        self._config = config_of(config, keywords, StreamsMemberConfig, streams_member_config)
        self._close_timeout_s = checked_seconds(close_timeout, "close_timeout")
        self._errors = BackgroundErrors()
        self._environment = environment or Environment()
        assembly = Assembly(self._config, self._environment, self._errors)
        self._clock = assembly.clock
        description = described(self._config, topology, process_id, number, assembly.rng)
        super().__init__(StreamsClient(self._config, _membership_of, description, task_offsets, assembly))
        self._guard = CallGuard("streams group member")
        self._explained_error: KafkaGroupsError | None = None
        self._finalizer = weakref.finalize(self, _abandon, self._client, self._guard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._client.loop is not None and not self._guard.is_forked:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    # ------------------------------------------------------------------------------------ the group

    async def join(self) -> None:
        """Join the group. Does not wait for tasks: `poll` returns them.

        Raises:
            IllegalStateError: The member has joined already.
            ClosedError: The member was closed.
        """
        self._check_loop()
        with self._guard.entered():
            self._client.join()

    async def poll(self, timeout: float | None = None) -> tuple[StreamsMembershipEvent, ...]:  # noqa: ASYNC109
        """Wait for events and return them.

        A program that does not call this for `max.poll.interval.ms` is considered dead: the member leaves and loses its
        tasks. It rejoins with the next call.

        Args:
            timeout: Longest wait, in seconds. None waits indefinitely; 0 returns the events that are available.

        Returns:
            The events in the order in which they happened; empty if the timeout expires.

        Raises:
            IllegalStateError: `join` was not called; or the function `task_offsets` failed.
            ApplicationShutdownError: A member asked all members to shut down, and an earlier call returned that status.
                The member has left and is closed.
            BrokerError: The coordinator refused the member permanently (authorization, group size, a different
                topology …), or refused a topic (`TopicAuthorizationFailedError`, which does not end the member).
            BootstrapError: No broker has responded within `default.api.timeout.ms` since the member was created.
        """
        timeout = checked_timeout(timeout)
        self._check_loop()
        with self._guard.entered():
            self._check_joined()
            if self._client.shutdown_told:
                await self._shut_down()
            self._client.polled()
            self._client.membership.calls.is_waiting = True
            self._client.attend()
            try:
                return await self._events(timeout)
            finally:
                self._client.waited()
                self._client.attend()

    async def _events(self, timeout_s: float | None) -> tuple[StreamsMembershipEvent, ...]:
        try:
            return await self._client.until(self._client.take_events, _as_ms(timeout_s))
        except BrokerError as error:
            # Kafka answers GROUP_ID_NOT_FOUND for a group of another type (KIP-1071, "Request Handling"), and
            # INCONSISTENT_GROUP_PROTOCOL to members of classic groups. Which type it has takes more requests, so it is
            # asked here, on behalf of the caller, and not in the background.
            raise await self._explained(error)  # noqa: B904 - it has its cause

    async def _explained(self, error: BrokerError) -> KafkaGroupsError:
        """Return a fatal error with what its text does not say. Later calls raise the same."""
        if error is not self._errors.fatal or error is self._explained_error:
            return error
        refusals = self._client.refusals
        kind = await self._group_kind() if refusals.asks_for_kind(error) else None
        told = refusals.explained(error, self._config.application_id, kind)
        self._explained_error = told
        self._errors.explain_fatal(told)
        return told

    async def _group_kind(self) -> "GroupKind | None":
        from kafka_groups.admin.rules.group_kinds import kind_of_group  # noqa: PLC0415 - only for such an error

        client = admin_client(self._config, self._environment)
        try:
            return await kind_of_group(client.within(_GROUP_TYPE_MS), self._config.application_id)
        except KafkaGroupsError as error:
            _log.debug("The type of the group is unknown: %s", error)
            return None
        finally:
            await client.close()

    async def _shut_down(self) -> None:
        # The application has heard the status in an earlier call, so it has had the time to commit and close its tasks.
        await self._close(GroupMembershipOperation.DEFAULT, self._config.request_timeout_ms)
        raise ApplicationShutdownError(
            f"A member of the streams group {self._config.application_id} asked all members to shut down, and this one"
            " has left. The group works again when all its members have left."
        )

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that you have closed the tasks of an event. Other members may get them from now on.

        Args:
            event: An event that `poll` returned. Confirm every event, even if the member has lost its tasks in the
                meantime: it gets no tasks before that. Confirming an event twice has no effect.

        Raises:
            ConfigurationError: The event needs no confirmation.
            ClosedError: The member was closed.
        """
        if not isinstance(event, TasksRevoked | TasksLost):
            raise ConfigurationError(f"{event!r} needs no confirmation. Confirm TasksRevoked and TasksLost.")
        self._check_loop()
        self._guard.check_usable()
        self._client.confirm(event)

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down, including this one. The next heartbeat sends the request.

        Raises:
            IllegalStateError: `join` was not called.
            ClosedError: The member was closed.
        """
        self._check_loop()
        self._guard.check_usable()
        self._check_joined()
        self._client.request_shutdown()

    # -------------------------------------------------------------------------------------- offsets

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> None:
        """Commit offsets of the group, with the member's epoch: the coordinator refuses members that lost their tasks.

        It also refuses offsets of a topic that was deleted, even if there is another one of its name: the member
        commits with the id that the topic had at the first commit of the partition.

        Args:
            offsets: For each partition the offset of the next record to process.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Raises:
            ConfigurationError: An argument is not a `kafka_groups.TopicPartition`, or not an offset.
            TasksLostError: Another member owns the tasks, or owned them in between. Their new owner starts from the
                offsets that were committed before. Continue to poll: it returns `TasksLost`, unless the tasks were
                revoked before.
            UnknownTopicIdError: A topic was deleted and created again since the offsets of a partition were committed
                last. Call `committed`, and read the partition from where one without an offset begins.
            IllegalStateError: `join` was not called.
            OperationTimeoutError: The coordinator did not respond in time. The offsets may have been committed.
            KafkaGroupsError: Another error of the group or of a partition. Other partitions may have been committed.
        """
        await self._commit_of(offsets, None, timeout)

    @property
    def _has_gate(self) -> bool:
        """True if there are times at which no commit may begin."""
        return self._client.membership.has_gate

    def _hold(self) -> bool:
        """Keep the member in its epoch for a commit. Return False if none may begin now."""
        return self._client.hold()

    def _release(self) -> None:
        """End what `_hold` has begun."""
        self._client.release()

    async def _ask_group(self, timeout: float) -> None:  # noqa: ASYNC109
        """Ask the coordinator whether the group still has the member, and wait for the answer for so many seconds."""
        await self._client.ask_group(round(timeout * 1_000))

    async def _commit_of(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        topic_ids: Mapping[TopicPartition, UUID] | None,
        timeout: float | None,  # noqa: ASYNC109
    ) -> None:
        """Commit offsets that are from the topics with these ids, as far as they are known. None: the member's own."""
        given = checked_commit(offsets)
        if not given:
            return
        timeout_ms = self._api_timeout_ms(timeout)
        self._check_call()
        if topic_ids is None:
            await self._client.commit_as_known(given, timeout_ms)
        else:
            await self._client.commit(given, timeout_ms, topic_ids)

    async def committed(
        self,
        partitions: Iterable[TopicPartition],
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets of the group.

        If a transaction may still change them, this waits until it has ended.

        Args:
            partitions: The partitions.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each partition the offset, or None if none was committed.

        Raises:
            ConfigurationError: A partition is not a `kafka_groups.TopicPartition`.
            TasksLostError: The member has lost its tasks. Continue to poll.
            IllegalStateError: `join` was not called.
            OperationTimeoutError: The coordinator did not respond in time.
            KafkaGroupsError: An error of the group or of a partition.
        """
        wanted = checked_partitions(partitions, "partitions")
        if not wanted:
            return {}
        timeout_ms = self._api_timeout_ms(timeout)
        self._check_call()
        return await self._client.committed(wanted, timeout_ms)

    def group_metadata(self) -> bytes:
        """Return the member's metadata for `send_offsets_to_transaction` of confluent-kafka's producer (KIP-447).

        Call this for each transaction, after you have produced and flushed its records: the metadata contains the
        member's epoch, which changes.

        Raises:
            TasksLostError: The member has lost tasks that you have not closed. Abort the transaction and continue to
                poll.
            IllegalStateError: The member is not in the group, and has no tasks.
        """
        who = self._as_member()
        return group_metadata_bytes(who.group_id, who.member)

    # ------------------------------------------------------------------------------------------ end

    async def close(
        self,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Leave the group and close all connections. Commit and close your tasks first.

        A second call has no effect, and neither has a call in a forked process.

        Args:
            timeout: Longest wait for the coordinator, in seconds; None is the constructor's `close_timeout`. Never
                longer than `request.timeout.ms`.
            operation: Whether the member leaves, or keeps its tasks until its session expires (KIP-1284).

        Raises:
            ConcurrentUseError: A `poll` is under way.
        """
        timeout = checked_timeout(timeout, NONE_IS_CLOSE_TIMEOUT)
        timeout = self._close_timeout_s if timeout is None else timeout
        check_operation(operation)
        if self._guard.is_closed:
            return
        if self._guard.is_forked:
            self._finalizer.detach()  # the parent still uses the connections
            self._guard.mark_closed()
            return
        self._check_loop()
        with self._guard.entered():
            await self._close(operation, round(timeout * 1000))

    async def _close(self, operation: GroupMembershipOperation, timeout_ms: int) -> None:
        self._finalizer.detach()
        try:
            await self._client.close(operation, timeout_ms)
        finally:
            await self._client.abort()
            self._guard.mark_closed()

    # --------------------------------------------------------------------------------------- guards

    def _check_call(self) -> None:
        self._check_loop()
        self._guard.check_usable()
        self._check_joined()

    def _check_joined(self) -> None:
        if self._client.loop is None:
            raise IllegalStateError("The member has not joined its group: call join() first.")

    def _check_loop(self) -> None:
        self._guard.check_process()
        check_loop(self, "a member", self._client.loop)

    def _api_timeout_ms(self, timeout_s: float | None) -> int:
        checked = checked_timeout(timeout_s, NONE_IS_API_TIMEOUT)
        return self._config.default_api_timeout_ms if checked is None else round(checked * 1000)


def _as_ms(timeout_s: float | None) -> int:
    """Return a timeout in milliseconds."""
    return NEVER_MS if timeout_s is None else round(timeout_s * 1000)


def _abandon(client: StreamsClient, guard: CallGuard) -> None:
    """Drop the connections of a member that was garbage-collected without being closed."""
    loop = client.loop
    if loop is not None and not loop.is_closed() and not guard.is_forked:
        loop.call_soon_threadsafe(lambda: loop.create_task(client.abort()))
