"""What worker processes can get, and what is refused."""

import pickle
from typing import Any

import pytest

from kafka_groups.assignment import StickyTaskAssignor
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import KafkaStreams, StateRestoreListener
from kafka_groups.streams.errors import StreamsError, StreamsNotStartedError, UnknownStateStoreError
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.workers.pickled import checked_program
from tests.unit.streams.runtime.counting import counting

GIVEN = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1", "num.workers": 2}


def test_a_function_and_its_keys_reach_a_worker() -> None:
    program = checked_program(counting, GIVEN, {"client_id": "me"}, RestoreListeners())
    received = pickle.loads(pickle.dumps(program))
    assert (received.build, received.mapping, received.keywords) == (counting, GIVEN, {"client_id": "me"})


def test_a_topology_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"is a topology. With num_workers from 2 on.*give the function"):
        KafkaStreams(counting(), GIVEN)


def test_lambdas_are_refused() -> None:
    topology = counting()
    with pytest.raises(ConfigurationError, match=r"topology cannot be pickled .*no lambda or inner function"):
        KafkaStreams(lambda: topology, GIVEN)
    with pytest.raises(ConfigurationError, match=r"processing_exception_handler cannot be pickled"):
        KafkaStreams(counting, GIVEN, processing_exception_handler=lambda *_: None)


@pytest.mark.parametrize(
    ("assignor", "is_taken"),
    [(StickyTaskAssignor, True), (StickyTaskAssignor(), True), ("StickyTaskAssignor", True), (lambda _: None, False)],
)
def test_an_assignor_that_cannot_be_pickled_is_refused(assignor: Any, *, is_taken: bool) -> None:
    given = {**GIVEN, "group.protocol": "classic"}
    if is_taken:
        KafkaStreams(counting, given, task_assignor_class=assignor)
        return
    with pytest.raises(
        ConfigurationError, match=r"task_assignor_class cannot be pickled .*no lambda or inner function"
    ):
        KafkaStreams(counting, given, task_assignor_class=assignor)
    KafkaStreams(counting, {**given, "num.workers": 1}, task_assignor_class=assignor)


def test_listeners_of_restoration_reach_a_worker() -> None:
    program = checked_program(counting, GIVEN, {}, RestoreListeners(restore=StateRestoreListener()))
    received = pickle.loads(pickle.dumps(program))
    assert isinstance(received.listeners.restore, StateRestoreListener)


def test_a_listener_that_cannot_be_pickled_is_refused() -> None:
    class Local(StateRestoreListener): ...

    with pytest.raises(ConfigurationError, match=r"state_restore_listener cannot be pickled"):
        KafkaStreams(counting, GIVEN, state_restore_listener=Local())


def test_stores_are_read_after_the_start() -> None:
    app = KafkaStreams(counting, GIVEN)
    with pytest.raises(StreamsNotStartedError, match=r"was not started\. Call start"):
        app.store("counts")
    with pytest.raises(UnknownStateStoreError, match=r"has no store 'other'\. Its stores are: counts"):
        app.store("other")
    with pytest.raises(ValueError, match=r"partition=-1 is negative"):
        app.store("counts", -1)


def test_a_thread_has_no_workers_to_add_or_remove() -> None:
    app = KafkaStreams(counting, {**GIVEN, "num.workers": 1})
    with pytest.raises(StreamsError, match=r"add_worker has no effect. Set num_workers to 2"):
        app.add_worker()
    with pytest.raises(StreamsError, match=r"remove_worker has no effect. Set num_workers to 2"):
        app.remove_worker()
