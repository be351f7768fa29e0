"""Stopping between micro-batches."""

import pickle
from typing import Any

from kafka_groups.spark.processes.stop_switch import StopSwitch, is_connect


class Query:
    """A query whose micro-batch ends after some questions."""

    def __init__(self, questions: int, *, is_trigger_active: bool = True) -> None:
        self._questions = questions
        self._is_trigger_active = is_trigger_active
        self.isActive = True
        self.asked = 0

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        self.asked += 1
        return {"batchId": 5} if self.asked > self._questions else None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self._is_trigger_active}

    def stop(self) -> None:
        self.isActive = False


def test_the_batch_under_way_is_waited_for_and_none_begins_after_it() -> None:
    switch, query = StopSwitch(), Query(2)
    assert not switch.is_on(object())  # type: ignore[arg-type]
    switch.stop(query)  # type: ignore[arg-type]
    assert switch.is_on(object())  # type: ignore[arg-type]
    assert query.asked == 3
    assert not query.isActive


def test_a_query_that_waits_for_its_next_trigger_is_stopped_at_once() -> None:
    query = Query(99, is_trigger_active=False)
    StopSwitch().stop(query)  # type: ignore[arg-type]
    assert not query.isActive


def test_a_copy_in_another_process_is_told_by_the_same_name() -> None:
    switch = StopSwitch()
    assert pickle.loads(pickle.dumps(switch))._name == switch._name
    assert StopSwitch()._name != switch._name
    assert not is_connect(Query(0))
