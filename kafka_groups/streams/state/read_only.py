"""Global stores as tasks see them: they can be read, and only the records of their topics change them."""

from typing import Any

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.store import StateStore

__all__ = ["ReadOnlyState"]


class ReadOnlyState:
    """The state of a global store for tasks, which do not own it."""

    def __init__(self, state: StateStore) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def put(self, *_change: object) -> None:
        """Refuse a change.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(
            f"Store {self._state.name!r} is global: tasks only read it. Write to the topic that fills it."
        )
