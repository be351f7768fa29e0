"""The tasks whose state queries may read."""

from kafka_groups.streams.errors import StateStoreMigratedError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineStatus

__all__ = ["check_readable", "migrated"]


def check_readable(status: EngineStatus, store: str, *, allows_stale: bool) -> None:
    """Check that a task of this process has a store now.

    Args:
        status: What the task does with its engine.
        store: The store.
        allows_stale: Whether a copy is good enough.

    Raises:
        StateStoreMigratedError: The task has gone, or runs elsewhere and only has a copy here.
        StoreNotAvailableError: It is being restored.
    """
    if status is EngineStatus.CLOSED or (status is EngineStatus.STANDBY and not allows_stale):
        raise migrated(store)
    if status is EngineStatus.RESTORING and not allows_stale:
        raise StoreNotAvailableError(
            f"Store {store!r} is being restored. Ask again later, or use allow_stale=True to read what it has."
        )


def migrated(store: str) -> StateStoreMigratedError:
    """Return the error for a view of a store, one of whose tasks has gone."""
    return StateStoreMigratedError(
        f"Store {store!r} is not here any more: one of the tasks that this view reads has moved to another process, or "
        "has ended. Ask app.store again."
    )
