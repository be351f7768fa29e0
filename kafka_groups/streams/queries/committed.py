"""Views of the committed state of one store in all tasks of a worker."""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.runtime.shared_engine import LockedReader, SharedEngine
from kafka_groups.streams.state.joined import JoinedStates
from kafka_groups.streams.state.opening import open_state
from kafka_groups.streams.state.store import RecordContext, StoreSurroundings
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.internal_topics import changelog_topic
from kafka_groups.streams.topology.node_graph import StorePlace

__all__ = ["committed_view"]


def committed_view(place: StorePlace, application_id: str, engines: Sequence[SharedEngine]) -> Any:
    """Return a view of a store, which reads what was committed when it is asked.

    Args:
        place: The store.
        application_id: The application.
        engines: The engines of the tasks that have the store.

    Raises:
        StreamsError: It is the buffer of a suppressed table.
    """
    return open_view(GatheredState(place, changelog_topic(place, application_id), tuple(engines)), RecordContext())


class GatheredState:
    """The states of a store in several tasks, as if they were one that nobody can change."""

    def __init__(self, place: StorePlace, topic: str, engines: tuple[SharedEngine, ...]) -> None:
        self.definition = place.definition
        self.name = place.definition.name
        self._topic = topic
        self._engines = engines

    def __repr__(self) -> str:
        return f"<GatheredState {self.name!r} of {len(self._engines)} tasks>"

    def put(self, *_change: object) -> None:
        """Refuse a change.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(f"Store {self.name!r} cannot be changed from outside: only its processors write to it.")

    def __getattr__(self, name: str) -> Any:
        return getattr(JoinedStates(tuple(self._states())), name)

    def _states(self) -> Iterator[Any]:
        # Made for each question: window and session states index what the engine has at that time.
        for engine in self._engines:
            reader = LockedReader(engine)
            surroundings = StoreSurroundings(topic=self._topic, engine=reader, record=RecordContext(), is_caching=False)
            yield open_state(self.definition, surroundings)
