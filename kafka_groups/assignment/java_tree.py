"""Java's `TreeSet`, a red-black tree, whose elements may change their places after they were added.

If they do, the set is no longer sorted, and where a new element comes depends on the shape of the tree. Kafka Streams
describes topologies with such sets.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from attrs import define

__all__ = ["JavaTreeSet"]

T = TypeVar("T")


@define(eq=False)
class _TreeEntry(Generic[T]):
    value: T
    parent: "_TreeEntry[T] | None" = None
    smaller: "_TreeEntry[T] | None" = None
    larger: "_TreeEntry[T] | None" = None
    is_red: bool = True


class JavaTreeSet(Generic[T]):
    """A sorted set.

    Args:
        place: Returns the place of an element among others. It is called for each comparison.
    """

    def __init__(self, place: Callable[[T], Any]) -> None:
        self._place = place
        self._root: _TreeEntry[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return _values(self._root)

    def add(self, value: T) -> None:
        """Add an element, unless one with its place is on the way to where it would come."""
        parent, entry, place = None, self._root, self._place(value)
        is_smaller = False
        while entry is not None:
            parent, other = entry, self._place(entry.value)
            # As `TreeMap.put`: the search goes by the places that elements have now. An equal element elsewhere in the
            # tree, where it does not belong any more, is not found.
            if place == other:
                return
            is_smaller = place < other
            entry = entry.smaller if is_smaller else entry.larger
        added = _TreeEntry(value, parent)
        self._hang(parent, added, is_smaller=is_smaller)
        self._balance(added)

    def _hang(self, parent: _TreeEntry[T] | None, entry: _TreeEntry[T] | None, *, is_smaller: bool) -> None:
        if parent is None:
            self._root = entry
        elif is_smaller:
            parent.smaller = entry
        else:
            parent.larger = entry
        if entry is not None:
            entry.parent = parent

    def _balance(self, entry: _TreeEntry[T]) -> None:
        """Give the tree back its rule after an insertion: no red entry below a red one."""
        while (parent := entry.parent) is not None and parent.is_red and (above := parent.parent) is not None:
            # There are three cases, as in `TreeMap.fixAfterInsertion`. With a red uncle, only colours change, and the
            # search goes on above.
            is_smaller = parent is above.smaller
            uncle = above.larger if is_smaller else above.smaller
            above.is_red = True
            if uncle is not None and uncle.is_red:
                parent.is_red = uncle.is_red = False
                entry = above
                continue
            # An entry on the inner side is moved to the outer side first.
            if (entry is parent.smaller) is not is_smaller:
                self._raise(entry, parent)
                entry, parent = parent, entry
            # An entry on the outer side is balanced by raising its parent.
            parent.is_red = False
            self._raise(parent, above)
        if entry.parent is None:
            entry.is_red = False

    def _raise(self, child: _TreeEntry[T], entry: _TreeEntry[T]) -> None:
        """Put a child in its parent's place, and the parent below it, on the other side."""
        parent, is_smaller = entry.parent, child is entry.smaller
        self._hang(parent, child, is_smaller=parent is not None and parent.smaller is entry)
        self._hang(entry, child.larger if is_smaller else child.smaller, is_smaller=is_smaller)
        self._hang(child, entry, is_smaller=not is_smaller)


def _values(entry: _TreeEntry[T] | None) -> Iterator[T]:
    if entry is not None:
        yield from _values(entry.smaller)
        yield entry.value
        yield from _values(entry.larger)
