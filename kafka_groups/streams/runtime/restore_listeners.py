"""Listeners that an application can be given to follow the restoration of its stores, and the calls to them."""

import enum
from collections.abc import Sequence

from attrs import define, frozen

from kafka_groups.streams.topology.functions import check_methods
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["RestoreEvents", "RestoreListeners", "StandbyUpdateListener", "StateRestoreListener", "SuspendReason"]


class StateRestoreListener:
    """Follows how stores are restored from their changelogs: those of active tasks, and global stores.

    Override what you want to hear. Every worker calls the methods from its own thread or process, between records, so
    they must return at once. An exception ends the worker.
    """

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        """Hear that the restoration of a store begins.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            starting_offset: The offset of the first record to restore.
            ending_offset: The offset after the last one.
        """

    def on_batch_restored(self, partition: TopicPartition, store: str, batch_end_offset: int, restored: int) -> None:
        """Hear that some records are restored.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            batch_end_offset: The offset of the last of them.
            restored: How many they are.
        """

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        """Hear that a store has everything.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            total_restored: The number of records that were restored.
        """

    def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        """Hear that the task was given up before its store had everything (KIP-869).

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            total_restored: The number of records that were restored until then.
        """


class SuspendReason(enum.Enum):
    """The reasons why a standby or warm-up task ends."""

    MIGRATED = "migrated"
    """The worker does not have the task any more."""
    PROMOTED = "promoted"
    """The task becomes an active one."""


class StandbyUpdateListener:
    """Follows how standby and warm-up tasks keep up with their changelogs (KIP-988).

    Override what you want to hear. Every worker calls the methods from its own thread or process, between records, so
    they must return at once. An exception ends the worker.
    """

    def on_update_start(self, partition: TopicPartition, store: str, starting_offset: int) -> None:
        """Hear that a store begins to follow its changelog.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            starting_offset: The offset of the first record that it will get.
        """

    def on_batch_loaded(
        self,
        partition: TopicPartition,
        store: str,
        task_id: TaskId,
        batch_end_offset: int,
        batch_size: int,
        current_end_offset: int,
    ) -> None:
        """Hear that a store got some records.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            task_id: The task.
            batch_end_offset: The offset of the last of the records.
            batch_size: How many they are.
            current_end_offset: Where the changelog ended when that was last heard.
        """

    def on_update_suspended(
        self, partition: TopicPartition, store: str, store_offset: int, current_end_offset: int, reason: SuspendReason
    ) -> None:
        """Hear that a store does not follow its changelog any more.

        Args:
            partition: The partition of the changelog.
            store: The name of the store.
            store_offset: The last offset that the store has, or -1.
            current_end_offset: Where the changelog ended when that was last heard.
            reason: Why.
        """


@frozen(kw_only=True)
class RestoreListeners:
    """The listeners of an application."""

    restore: StateRestoreListener | None = None
    standby: StandbyUpdateListener | None = None

    def check(self, place: str) -> None:
        """Refuse listeners with methods that do nothing when they are called.

        Raises:
            TypeError: A method is declared with `async def`, or is a generator function.
        """
        for listener, kind in ((self.restore, StateRestoreListener), (self.standby, StandbyUpdateListener)):
            if listener is not None:
                check_methods(place, listener, (name for name in vars(kind) if name.startswith("on_")))


@define
class _Restored:
    """A changelog that is being restored, and the records so far."""

    stores: Sequence[str]
    count: int = 0


class RestoreEvents:
    """Calls the listeners once for each store and event: a restoration ends or is suspended, and never both."""

    def __init__(self, listeners: RestoreListeners) -> None:
        self._restore = listeners.restore or StateRestoreListener()
        self._standby = listeners.standby or StandbyUpdateListener()
        self._restoring: dict[TopicPartition, _Restored] = {}
        self._following: dict[TopicPartition, Sequence[str]] = {}

    def __repr__(self) -> str:
        return f"<RestoreEvents: {len(self._restoring)} restoring, {len(self._following)} following>"

    def restoring(self, place: TopicPartition, stores: Sequence[str], start: int, end: int) -> None:
        """Note that the restoration of stores begins."""
        self._restoring[place] = _Restored(stores)
        for store in stores:
            self._restore.on_restore_start(place, store, start, end)

    def restored(self, place: TopicPartition, last: int, count: int) -> None:
        """Note that records are restored, the last of them with this offset."""
        found = self._restoring.get(place)
        if found is not None and count:
            found.count += count
            for store in found.stores:
                self._restore.on_batch_restored(place, store, last, count)

    def complete(self, place: TopicPartition) -> None:
        """Note that stores have everything."""
        # Taken out, so that `stop` does not report the same restoration as suspended.
        found = self._restoring.pop(place, None)
        if found is not None:
            for store in found.stores:
                self._restore.on_restore_end(place, store, found.count)

    def following(self, place: TopicPartition, stores: Sequence[str], start: int) -> None:
        """Note that stores follow their changelog, if they have not before."""
        if place not in self._following:
            self._following[place] = stores
            for store in stores:
                self._standby.on_update_start(place, store, start)

    def loaded(self, place: TopicPartition, task_id: TaskId, last: int, count: int, end: int) -> None:
        """Note that stores which follow their changelog got records, the last of them with this offset."""
        for store in self._following[place]:
            self._standby.on_batch_loaded(place, store, task_id, last, count, end)

    def stop(self, place: TopicPartition, position: int, end: int, reason: SuspendReason) -> None:
        """Note that a task ends in its role."""
        found = self._restoring.pop(place, None)
        if found is not None:
            for store in found.stores:
                self._restore.on_restore_suspended(place, store, found.count)
        for store in self._following.pop(place, ()):
            self._standby.on_update_suspended(place, store, position - 1, end, reason)
