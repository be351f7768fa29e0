"""The blocking member of a streams group: the asynchronous one on a background thread."""

import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from kafka_groups.client.assembly import Environment
from kafka_groups.config.keywords import StreamsMemberKeywords
from kafka_groups.config.streams import StreamsMemberConfig
from kafka_groups.config.timeouts import DEFAULT_CLOSE_TIMEOUT_S, NONE_IS_CLOSE_TIMEOUT, checked_timeout
from kafka_groups.errors import ClosedError, IllegalStateError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.streams.aio import AsyncStreamsGroupMember
from kafka_groups.streams.arguments import check_operation
from kafka_groups.streams.client import TaskPositions
from kafka_groups.streams.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member_view import _MemberView
from kafka_groups.streams.topology import Topology
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["StreamsGroupMember"]

T = TypeVar("T")


class StreamsGroupMember(_MemberView):
    """A member of a streams group (KIP-1071); its methods block.

    The group coordinator assigns *tasks* to the members of a streams group. A task is one partition of all topics that
    a sub-topology reads. The member joins, heartbeats and tells your program which tasks it owns; your program reads
    the partitions, keeps the stores and commits. In a loop, call `poll` and handle the events:

    - `TasksAssigned`: start these tasks, from the offsets that `committed` returns.
    - `TasksRevoked`: commit, close these tasks, and `confirm` the event. Nobody else gets them before.
    - `TasksLost`: close these tasks without committing, and `confirm` the event.
    - `StatusesChanged`: what keeps the group from working, such as missing source topics. After the status
      `SHUTDOWN_APPLICATION`, commit and close your tasks: the next `poll` leaves the group and raises an error.

    Each task that was assigned ends by exactly one `TasksRevoked` or `TasksLost`. `commit` raises `TasksLostError` if
    the member has lost its tasks and your program has not heard of it yet: go on to poll.

    A background thread sends heartbeats while your program works. Only one thread polls at a time; any may
    call the other methods. Use it in a `with` statement, or call `close`.

    Args:
        config: A dictionary of configuration keys by Kafka's dotted names.
        topology: The application's topology. All members of the group must have the same.
        process_id: The id of the process. Members that share their stores give the same, and keep it when the process
            restarts with its stores. None makes one up.
        number: Which member of its process this is, counted from 1. The instance id of a static member is
            `<group.instance.id>-<number>`.
        task_offsets: Returns for each task with state in this process how far its stores are, tasks that the process
            does not own now included. It is called on the background thread and must return at once.
        close_timeout: Longest wait for the coordinator in `close`, in seconds, also at the end of a `with` statement.
        environment: Another network or clock, for tests.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers` and `application_id`. The
            configuration reference lists them all.

    Raises:
        ConfigurationError: A key is unknown or has no effect on streams groups, or a value is invalid.
    """

    def __init__(  # noqa: PLR0913 - all but the first by keyword
        self,
        config: StreamsMemberConfig | Mapping[str, object] | None = None,
        /,
        *,
        topology: Topology,
        process_id: str | None = None,
        number: int = 1,
        task_offsets: TaskPositions = dict,
        close_timeout: float = DEFAULT_CLOSE_TIMEOUT_S,
        environment: Environment | None = None,
        **keywords: Unpack[StreamsMemberKeywords],
    ) -> None:
        self._member = AsyncStreamsGroupMember(
            config,
            topology=topology,
            process_id=process_id,
            number=number,
            task_offsets=task_offsets,
            close_timeout=close_timeout,
            environment=environment,
            **keywords,
        )
        super().__init__(self._member._client)
        self._thread = LoopThread(f"streams-member-{self._client.membership.description.group_id}")
        self._starting = threading.Lock()
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _abandon, self._thread, self._member)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    # ------------------------------------------------------------------------------------ the group

    def join(self) -> None:
        """Join the group. Does not wait for tasks: `poll` returns them.

        Raises:
            IllegalStateError: The member has joined already.
            ClosedError: The member was closed.
        """
        with self._starting:
            if not self._thread.is_running and not self._is_closed:
                self._thread.start()
        self._run(self._member.join())

    def poll(self, timeout: float | None = None) -> tuple[StreamsMembershipEvent, ...]:
        """Wait for events and return them.

        A program that does not call this for `max.poll.interval.ms` is taken for dead: the member leaves, its tasks
        are lost, and it rejoins with the next call.

        Args:
            timeout: Longest wait, in seconds. None waits for as long as it takes; 0 returns what is there.

        Returns:
            The events in the order in which they happened; empty when the time is up.

        Raises:
            IllegalStateError: `join` was not called; or the function `task_offsets` failed.
            ApplicationShutdownError: A member asked all members to shut down, and an earlier call told you. The member
                has left and is closed.
            BrokerError: The coordinator refused the member for good (authorisation, group size, another topology …),
                or a topic of the topology (`TopicAuthorizationFailedError`, which does not end the member).
            BootstrapError: No broker has answered since the member was made, for `default.api.timeout.ms`.
        """
        return self._run(self._member.poll(timeout))

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that you have closed the tasks of an event. Others may get them from now on.

        Args:
            event: An event that `poll` returned. Confirm each, also if the member has lost its tasks in the meantime:
                it takes no tasks before. A second time, nothing happens.

        Raises:
            ConfigurationError: The event needs no confirmation.
            ClosedError: The member was closed.
        """
        self._run(_called(self._member.confirm, event))

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down, this one included. The next heartbeat says so.

        Raises:
            IllegalStateError: `join` was not called.
            ClosedError: The member was closed.
        """
        self._run(_called(self._member.request_shutdown))

    # -------------------------------------------------------------------------------------- offsets

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], timeout: float | None = None) -> None:
        """Commit offsets of the group, with the member's epoch: the coordinator refuses members that lost their tasks.

        Args:
            offsets: For each partition the offset of the next record to process.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Raises:
            ConfigurationError: An argument is not a `kafka_groups.TopicPartition`, or not an offset.
            TasksLostError: The tasks are, or were in between, another member's. What is committed stays, and their new
                owner begins there. Go on to poll: it returns `TasksLost`, unless the tasks were revoked before.
            IllegalStateError: `join` was not called.
            OperationTimeoutError: The coordinator did not answer in time. The offsets may be committed.
            KafkaGroupsError: Another error of the group or of a partition; other partitions may be committed.
        """
        self._run(self._member.commit(offsets, timeout))

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets of the group.

        Waits for transactions that may change them.

        Args:
            partitions: The partitions.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each partition the offset, or None if none was committed.

        Raises:
            ConfigurationError: A partition is not a `kafka_groups.TopicPartition`.
            TasksLostError: The member has lost its tasks. Go on to poll.
            IllegalStateError: `join` was not called.
            OperationTimeoutError: The coordinator did not answer in time.
            KafkaGroupsError: An error of the group or of a partition.
        """
        return self._run(self._member.committed(partitions, timeout))

    def group_metadata(self) -> bytes:
        """Return the member's metadata for `send_offsets_to_transaction` of confluent-kafka's producer (KIP-447).

        Ask again before each transaction, because the epoch changes.

        Raises:
            TasksLostError: The member has lost tasks that you have not closed. Go on to poll.
            IllegalStateError: The member is not in the group, and has no tasks.
        """
        return self._member.group_metadata()

    # ------------------------------------------------------------------------------------------ end

    def close(
        self,
        timeout: float | None = None,
        *,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Leave the group and close all connections. Commit and close your tasks first.

        A second call does nothing, and neither does a call in a process that was forked from the member's.

        Args:
            timeout: Longest wait for the coordinator, in seconds; None is the constructor's `close_timeout`. Never
                longer than `request.timeout.ms`.
            operation: Whether the member leaves or keeps its tasks until its session ends (KIP-1284).

        Raises:
            ConcurrentUseError: A `poll` is under way.
        """
        checked_timeout(timeout, NONE_IS_CLOSE_TIMEOUT)
        check_operation(operation)
        self._is_closed = True
        if self._thread.is_running:
            self._thread.run(self._member.close(timeout, operation=operation))
        self._finalizer()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._is_closed or not self._thread.is_running:
            coroutine.close()
            if self._is_closed:
                raise ClosedError("the streams group member was closed")
            raise IllegalStateError("The member has not joined its group in this process: call join() first.")
        return self._thread.run(coroutine)


async def _called(function: Callable[..., T], *args: object) -> T:
    return function(*args)


def _abandon(thread: LoopThread, member: AsyncStreamsGroupMember) -> None:
    """The member was garbage-collected without having been closed: let go of its connections and its thread."""
    member._finalizer.detach()
    thread.stop(last=member._client.abort() if thread.is_running else None)
