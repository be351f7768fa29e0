"""Runs of offsets against a plain dictionary."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.runs import Runs

OFFSETS = st.integers(0, 40)
CHANGES = st.lists(st.tuples(OFFSETS, st.integers(0, 12), st.sampled_from("abc")), max_size=30)


@given(CHANGES, OFFSETS, OFFSETS, OFFSETS)
def test_runs_say_what_a_dictionary_says_and_are_as_few_as_possible(
    changes: list[tuple[int, int, str]], below: int, first: int, last: int
) -> None:
    runs: Runs[str] = Runs()
    model: dict[int, str] = {}
    for start, more, value in changes:
        runs.assign(start, start + more, value)
        model.update(dict.fromkeys(range(start, start + more + 1), value))
    runs.drop_below(below)
    model = {offset: value for offset, value in model.items() if offset >= below}

    listed = list(runs)
    assert {offset: run.value for run in listed for offset in range(run.first, run.last + 1)} == model
    assert all(run.first <= run.last for run in listed)
    for left, right in itertools.pairwise(listed):
        assert left.last < right.first
        assert left.last + 1 < right.first or left.value != right.value
    covered = {offset: run.value for run in runs.cover(first, last) for offset in range(run.first, run.last + 1)}
    assert covered == {offset: model.get(offset) for offset in range(first, last + 1)}
