"""Postpones Python's full garbage collections, which stop the whole process for as long as they take."""

import gc
import weakref

__all__ = ["FULL_COLLECTIONS", "FullCollections"]

_NEVER = 2**31 - 1


class FullCollections:
    """Full collections of this process.

    A request with 100,000 items makes a million objects, all of which are gone when it has been answered. A full
    collection in between would look at each of them and find nothing. Young objects are still collected.

    Clusters of several threads share this object, without a lock: should two of them begin and end at the same moment,
    collections may come back too early, but never stay away.
    """

    def __init__(self) -> None:
        self._holders: set[weakref.ref[object]] = set()
        self._threshold = gc.get_threshold()

    @property
    def is_postponed(self) -> bool:
        """True if full collections are postponed for now."""
        return gc.get_threshold()[2] == _NEVER

    def postpone(self, holder: object) -> None:
        """Postpone full collections until `resume` is called with this object, or it is gone."""
        self._holders.add(weakref.ref(holder, self._let_go))
        if not self.is_postponed:
            self._threshold = gc.get_threshold()
            gc.set_threshold(*self._threshold[:2], _NEVER)

    def resume(self, holder: object) -> None:
        """Let them happen again, unless others have postponed them, too, or the program has set its own threshold."""
        self._let_go(weakref.ref(holder))

    def _let_go(self, holder: "weakref.ref[object]") -> None:
        self._holders.discard(holder)
        if not self._holders and self.is_postponed:
            gc.set_threshold(*self._threshold)


FULL_COLLECTIONS = FullCollections()
"""Those of this process."""
