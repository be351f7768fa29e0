"""Views of stores in tasks that are nothing but engines."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines.questions import StoreQuestion, TaskAnswer, answers
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.queries.committed import committed_view
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.node_graph import TopologyStore
from kafka_groups.types import TaskId
from tests.support.committed_states import commit

TEXT = serdes.string
ROWS = stores.key_value("rows", TEXT, TEXT)
WINDOWS = stores.window("windows", TEXT, TEXT, size=timedelta(milliseconds=10), retention=timedelta(minutes=1))
SESSIONS = stores.session("sessions", TEXT, TEXT, retention=timedelta(minutes=1))
VERSIONS = stores.versioned("versions", TEXT, TEXT, history=timedelta(minutes=1))


def filled(
    definition: StoreDefinition, *fills: Callable[[Any], object], engines: list[SharedEngine] | None = None
) -> Any:
    """Return the view of a store that has a task for each of the functions, which fill it."""
    engines = [] if engines is None else engines
    for fill in fills:
        engines.append(filled_engine(definition, fill))
    return view_of(definition, engines)


def view_of(
    definition: StoreDefinition, engines: list[SharedEngine], *, partitions: int | None = None, **options: Any
) -> Any:
    """Return the view of a store in tasks with these engines, of the first partitions of the whole application.

    As a worker does, it leaves out tasks that do not run, unless stale answers are allowed.
    """

    def ask(question: StoreQuestion) -> list[TaskAnswer]:
        having = [(TaskId("0", at), engine) for at, engine in enumerate(engines) if engine.is_open]
        running = [each for each in having if question.allows_stale or each[1].status is EngineStatus.ACTIVE]
        return answers(question, definition, running, partitions or len(engines))

    return committed_view(TopologyStore(definition=definition), "app", ask, **options)


def filled_engine(definition: StoreDefinition, fill: Callable[[Any], object]) -> SharedEngine:
    engine, record = SharedEngine(), RecordContext()
    state = open_state(definition, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))
    fill(open_view(state, record))
    commit(state, engine)
    engine.set_status(EngineStatus.ACTIVE)
    return engine
