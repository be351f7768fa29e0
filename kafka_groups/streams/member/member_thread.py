"""The part of the blocking member that is not generated: its constructor, its thread, and waiting for calls."""

import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar, Unpack
from uuid import UUID

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.client.assembly import Environment
from kafka_groups.client.call_guard import CallGuard
from kafka_groups.config.clients.keywords import StreamsMemberKeywords
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.config.clients.timeouts import DEFAULT_CLOSE_TIMEOUT_S, NONE_IS_CLOSE_TIMEOUT, checked_timeout
from kafka_groups.errors import BrokerError, ClosedError, IllegalStateError, KafkaGroupsError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.wake_up import WakeUp
from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
from kafka_groups.streams.member.coordinated_membership import coordinated_membership
from kafka_groups.streams.member.member_arguments import check_operation
from kafka_groups.streams.member.member_view import _MemberView
from kafka_groups.streams.member.membership_parts import MembershipOf, TaskPositions
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation, StreamsMembershipEvent
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["_MemberThread"]

P = ParamSpec("P")
T = TypeVar("T")


class _MemberThread(_MemberView):
    """An asynchronous member on a background thread, which starts when the member joins.

    A poll takes what the background thread has put into the inbox. It only wakes that thread, and never waits for it,
    unless the member has to join again or to leave. All other calls run there.
    """

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
        self._member = AsyncStreamsGroupMember(
            config,
            topology=topology,
            process_id=process_id,
            number=number,
            task_offsets=task_offsets,
            close_timeout=close_timeout,
            environment=environment,
            _membership_of=_membership_of,
            **keywords,
        )
        super().__init__(self._member._client)
        self._thread = LoopThread(f"streams-member-{self._client.membership.description.group_id}")
        self._starting = threading.Lock()
        self._guard = CallGuard("streams group member")  # of the callers' threads; the member has one of the loop's
        self._news = WakeUp()
        self._client.on_news = self._news.set
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _abandon, self._thread, self._member)

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _join(self) -> None:
        # Two threads may join at the same time. One starts the background thread, and the other one gets an
        # IllegalStateError from the member.
        with self._starting:
            if not self._thread.is_running and not self._is_closed:
                self._thread.start()
        with self._guard.entered():
            self._run(self._member.join())

    def _poll(self, timeout: float | None) -> tuple[StreamsMembershipEvent, ...]:
        timeout = checked_timeout(timeout)
        self._check_running()
        with self._guard.entered():
            # A stale member rejoins with this call, and one that was told to shut down leaves with it, so these calls
            # run on the thread of the loop.
            if self._client.is_needed:
                return self._run(self._member.poll(timeout))
            try:
                return self._events(timeout)
            except BrokerError as error:
                raise self._run(self._member._explained(error))  # noqa: B904 - it has its cause

    def _events(self, timeout_s: float | None) -> tuple[StreamsMembershipEvent, ...]:
        self._client.polled()
        events = self._client.take_events()
        if events:
            self._thread.call_soon(self._client.attend)  # it logs what was taken
        elif timeout_s != 0:
            return self._wait_for_events(timeout_s)
        return events

    def _wait_for_events(self, timeout_s: float | None) -> tuple[StreamsMembershipEvent, ...]:
        client, clock = self._client, self._member._clock
        deadline_ms = None if timeout_s is None else clock.now_ms() + round(timeout_s * 1000)
        client.membership.calls.is_waiting = True
        try:
            # The member may just have become stale. It must not wait for a call in which this one waits for it.
            self._thread.call_soon(client.attend)
            while True:
                # Cleared before events are taken: what comes in after that sets it again.
                self._news.clear()
                events = client.take_events()
                left_s = None if deadline_ms is None else max(0, deadline_ms - clock.now_ms()) / 1000
                if events or not self._news.wait(left_s):
                    return events
        finally:
            client.waited()
            self._thread.call_soon(client.attend)  # from now on the loop needs a timer for the next call

    @property
    def _has_gate(self) -> bool:
        return self._member._has_gate

    def _hold(self) -> bool:
        return self._call(self._member._hold)

    def _release(self) -> None:
        self._call(self._member._release)

    def _ask_group(self, timeout: float) -> None:
        self._run(self._member._ask_group(timeout))

    def _commit_of(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[TopicPartition, UUID],
        timeout: float,
    ) -> None:
        self._run(self._member._commit_of(offsets, topic_ids, timeout))

    def _close(self, timeout: float | None, *, operation: GroupMembershipOperation) -> None:
        checked_timeout(timeout, NONE_IS_CLOSE_TIMEOUT)
        check_operation(operation)
        self._is_closed = True
        if self._thread.is_running:
            with self._guard.entered():
                self._thread.run(self._member.close(timeout, operation=operation))
        self._finalizer()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call of the asynchronous member to its end."""
        try:
            self._check_running()
        except KafkaGroupsError:
            coroutine.close()
            raise
        return self._thread.run(coroutine)

    def _check_running(self) -> None:
        if self._is_closed:
            raise ClosedError("the streams group member was closed")
        if not self._thread.is_running:
            raise IllegalStateError("The member has not joined its group in this process: call join() first.")

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the thread of the member's event loop."""
        return self._run(_called(function, *args, **kwargs))


async def _called(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


def _abandon(thread: LoopThread, member: AsyncStreamsGroupMember) -> None:
    """Drop the connections and the thread of a member that was garbage-collected without being closed."""
    member._finalizer.detach()
    thread.stop(last=member._client.abort() if thread.is_running else None)
