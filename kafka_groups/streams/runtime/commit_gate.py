"""The gate before commits: in a classic group, none may begin while the group rebalances.

Between JoinGroup and the assignment, a coordinator refuses the offsets of the generation before. A transaction that
brings them then would be aborted. In a streams group the gate is always open.
"""

from contextlib import AsyncExitStack

from kafka_groups.streams.runtime.worker_membership import WorkerMembership

__all__ = ["CommitGate"]


class CommitGate:
    """Holds the member in its generation while a commit lasts, which may be several turns of a worker.

    Args:
        member: The member, which says whether a commit may begin.

    Attributes:
        is_closed: Whether the last commit that was not urgent was not allowed to begin.
    """

    def __init__(self, member: WorkerMembership) -> None:
        self._member = member
        self._held: AsyncExitStack | None = None
        self.is_closed = False

    def __repr__(self) -> str:
        held = ", held open" if self._held is not None else ""
        return f"<CommitGate: {'closed' if self.is_closed else 'open'}{held}>"

    async def enter(self, *, is_urgent: bool = False) -> bool:
        """Return whether a commit may begin or go on. If so, call `leave` when it has ended.

        Args:
            is_urgent: Whether it has to begin although the group rebalances, because its transaction would expire, or
                the worker closes.
        """
        if self._held is None:
            await self._ask(is_urgent=is_urgent)
        return self._held is not None

    async def _ask(self, *, is_urgent: bool) -> None:
        async with AsyncExitStack() as stack:
            may_commit = await stack.enter_async_context(self._member.committing(is_urgent=is_urgent))
            if not is_urgent:
                self.is_closed = not may_commit
            if may_commit:
                self._held = stack.pop_all()

    async def leave(self) -> None:
        """Let the member go. Without effect if no commit holds it."""
        held, self._held = self._held, None
        if held is not None:
            await held.aclose()
