"""The state of an application, and waiting for its end."""

import threading

import pytest

from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState


def test_a_wish_to_end_that_comes_before_the_wait_is_not_lost() -> None:
    life = ApplicationLife(None)
    life.ask_to_end()
    life.wait_to_end()
    assert life.state is StreamsState.CREATED


@pytest.mark.parametrize("end", [StreamsState.PENDING_SHUTDOWN, StreamsState.NOT_RUNNING, StreamsState.ERROR])
def test_the_wait_ends_with_the_application(end: StreamsState) -> None:
    life = ApplicationLife(None)
    waiting = threading.Thread(target=life.wait_to_end, daemon=True)
    waiting.start()
    life.enter(StreamsState.RUNNING)
    life.enter(end)
    waiting.join(30)
    assert not waiting.is_alive()
