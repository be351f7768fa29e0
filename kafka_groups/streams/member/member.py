"""The blocking member of a streams group; generated from `aio.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from kafka_groups.streams.member.member_thread import _MemberThread
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["StreamsGroupMember"]


class StreamsGroupMember(_MemberThread):
    """A member of a streams group (KIP-1071); its methods block.

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

    A background thread sends heartbeats while your program works. Only one thread may poll at a time; any thread
    may call the other methods. Use it in a `with` statement, or call `close`.

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------ the group

    def join(self) -> None:
        """Join the group. Does not wait for tasks: `poll` returns them.

        Raises:
            IllegalStateError: The member has joined already.
            ClosedError: The member was closed.
        """
        self._join()

    def poll(self, timeout: float | None = None) -> tuple[StreamsMembershipEvent, ...]:
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
        return self._poll(timeout)

    def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that you have closed the tasks of an event. Other members may get them from now on.

        Args:
            event: An event that `poll` returned. Confirm every event, even if the member has lost its tasks in the
                meantime: it gets no tasks before that. Confirming an event twice has no effect.

        Raises:
            ConfigurationError: The event needs no confirmation.
            ClosedError: The member was closed.
        """
        self._call(self._member.confirm, event)

    def request_shutdown(self) -> None:
        """Ask all members of the group to shut down, including this one. The next heartbeat sends the request.

        Raises:
            IllegalStateError: `join` was not called.
            ClosedError: The member was closed.
        """
        self._call(self._member.request_shutdown)

    # -------------------------------------------------------------------------------------- offsets

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], timeout: float | None = None) -> None:
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
        self._run(self._member.commit(offsets, timeout))

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
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
        return self._run(self._member.committed(partitions, timeout))

    def group_metadata(self) -> bytes:
        """Return the member's metadata for `send_offsets_to_transaction` of confluent-kafka's producer (KIP-447).

        Call this for each transaction, after you have produced and flushed its records: the metadata contains the
        member's epoch, which changes.

        Raises:
            TasksLostError: The member has lost tasks that you have not closed. Abort the transaction and continue to
                poll.
            IllegalStateError: The member is not in the group, and has no tasks.
        """
        return self._member.group_metadata()

    # ------------------------------------------------------------------------------------------ end

    def close(
        self, timeout: float | None = None, *, operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT
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
        self._close(timeout, operation=operation)
