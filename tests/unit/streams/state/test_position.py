"""Positions of stores: values that nobody changes, and their way into an engine and back."""

import pickle
from typing import Any

import pytest

from kafka_groups.streams import Position
from kafka_groups.streams.state.position import input_notes, inputs_in, position_of
from kafka_groups.types import TopicPartition

ORDERS, DASHED = TopicPartition("orders", 11), TopicPartition("a-1-b.c", 0)


def test_a_position_is_a_value() -> None:
    given = {"orders": {0: 41}}
    position = Position(given)
    given["orders"][0] = 0
    assert (position.at("orders", 0), position.at("orders", 1), position.at("others", 0)) == (41, None, None)
    with pytest.raises(TypeError):
        position.offsets["orders"][0] = 1  # type: ignore[index]
    same = Position({"orders": {0: 41}})
    assert position == same == pickle.loads(pickle.dumps(position))
    assert len({position, same}) == 1
    assert position != Position({"orders": {0: 42}})
    assert not Position().offsets


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (41, TypeError, r"Position\(41\): give a mapping of topics"),
        ({"orders": 41}, TypeError, "'orders': 41 is not a topic with its offsets"),
        ({7: {0: 41}}, TypeError, "7: {0: 41} is not a topic"),
        ({"orders": {0: "41"}}, TypeError, "'41' of topic 'orders' is not a partition or an offset"),
        ({"orders": {True: 41}}, TypeError, "True of topic 'orders'"),
        ({"orders": {0: -1}}, ValueError, "-1 of topic 'orders' is negative"),
        ({"orders": {-2: 1}}, ValueError, "-2 of topic 'orders' is negative"),
    ],
)
def test_what_is_no_position_is_refused(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Position(given)


def test_an_engine_notes_the_next_records_and_a_position_has_the_last_ones() -> None:
    inputs = {ORDERS: 42, DASHED: 7, TopicPartition("new", 0): 0}
    notes = {**input_notes(inputs), "counts#time": b"x"}
    assert inputs_in(notes) == inputs
    assert position_of(inputs.items()) == Position({"orders": {11: 41}, "a-1-b.c": {0: 6}})
