"""What a task does with the states of its stores, for tests of single states."""

from collections.abc import Iterable

from kafka_groups.streams.state.engine import Engine
from kafka_groups.streams.state.state_store import ChangelogRecord, StateStore, batch_of

__all__ = ["commit", "restore"]


def commit(state: StateStore, engine: Engine) -> None:
    """Move the changes of a state into its engine."""
    changes = state.changes()
    engine.commit(changes, notes=state.notes())
    state.committed()


def restore(state: StateStore, engine: Engine, records: Iterable[ChangelogRecord]) -> None:
    """Apply records of a changelog to a state and its engine."""
    changes = state.restore(batch_of(records))
    engine.load(changes, notes=state.notes())
