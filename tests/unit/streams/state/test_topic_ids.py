"""The ids of topics beside the positions in them."""

from uuid import UUID

from kafka_groups.streams.state.position import input_notes, inputs_in
from kafka_groups.streams.state.topic_ids import forgotten_ids, ids_in, replaced_topics, topic_id_notes
from kafka_groups.types import TopicPartition

OLD, NEW = UUID(int=1), UUID(int=2)


def test_ids_are_read_as_they_were_noted_and_beside_other_notes() -> None:
    inputs = {TopicPartition("a", 0): 5}
    notes = {**topic_id_notes({"a": OLD, "b-1": NEW}), **input_notes(inputs), "counts#last": b"7"}
    assert ids_in(notes) == {"a": OLD, "b-1": NEW}
    assert inputs_in(notes) == inputs


def test_a_topic_is_replaced_if_it_has_another_id_than_the_one_that_was_noted() -> None:
    notes = topic_id_notes({"a": OLD, "b": OLD})
    assert replaced_topics(notes, {"a": NEW, "b": OLD, "c": NEW}) == ["a"]
    assert replaced_topics({}, {"a": NEW}) == []


def test_a_forgotten_id_is_like_none() -> None:
    notes = {**topic_id_notes({"a": OLD, "b": OLD}), **forgotten_ids(["a"])}
    assert ids_in(notes) == {"b": OLD}
    assert replaced_topics(notes, {"a": NEW}) == []
