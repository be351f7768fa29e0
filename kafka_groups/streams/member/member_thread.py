"""The part of the blocking member that is not generated: its constructor, its thread, and waiting for calls."""

import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar, Unpack

from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.keywords import StreamsMemberKeywords
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.config.clients.timeouts import DEFAULT_CLOSE_TIMEOUT_S, NONE_IS_CLOSE_TIMEOUT, checked_timeout
from kafka_groups.errors import ClosedError, IllegalStateError
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
from kafka_groups.streams.member.arguments import check_operation
from kafka_groups.streams.member.client import TaskPositions
from kafka_groups.streams.member.member_view import _MemberView
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.member.rules.topology import GroupTopology

__all__ = ["_MemberThread"]

P = ParamSpec("P")
T = TypeVar("T")


class _MemberThread(_MemberView):
    """An asynchronous member on a background thread, which starts when the member joins."""

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

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._thread.is_running:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _join(self) -> None:
        with self._starting:
            if not self._thread.is_running and not self._is_closed:
                self._thread.start()
        self._run(self._member.join())

    def _close(self, timeout: float | None, *, operation: GroupMembershipOperation) -> None:
        checked_timeout(timeout, NONE_IS_CLOSE_TIMEOUT)
        check_operation(operation)
        self._is_closed = True
        if self._thread.is_running:
            self._thread.run(self._member.close(timeout, operation=operation))
        self._finalizer()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a call of the asynchronous member to its end."""
        if self._is_closed or not self._thread.is_running:
            coroutine.close()
            if self._is_closed:
                raise ClosedError("the streams group member was closed")
            raise IllegalStateError("The member has not joined its group in this process: call join() first.")
        return self._thread.run(coroutine)

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the thread of the member's event loop."""
        return self._run(_called(function, *args, **kwargs))


async def _called(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


def _abandon(thread: LoopThread, member: AsyncStreamsGroupMember) -> None:
    """Drop the connections and the thread of a member that was garbage-collected without being closed."""
    member._finalizer.detach()
    thread.stop(last=member._client.abort() if thread.is_running else None)
