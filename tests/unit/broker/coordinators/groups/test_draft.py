"""Changes laid over a table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.coordinators.groups.draft import Overlay

keys = st.integers(0, 5)


@given(
    table=st.dictionaries(keys, st.integers()),
    changes=st.lists(st.tuples(keys, st.none() | st.integers())),
)
def test_it_is_what_a_changed_copy_is(table: dict[int, int], changes: list[tuple[int, int | None]]) -> None:
    before, overlay, copy = dict(table), Overlay(table), dict(table)
    for key, value in changes:
        for each in (overlay, copy):
            if value is None:
                each.pop(key, None)
            else:
                each[key] = value
        assert overlay == copy
        assert len(overlay) == len(copy)
        assert [key in overlay for key in range(6)] == [key in copy for key in range(6)]
    assert table == before
    assert sorted(overlay) == sorted(copy)


def test_a_key_is_removed_once() -> None:
    overlay: Overlay[str, Any] = Overlay({"a": 1})
    del overlay["a"]
    with pytest.raises(KeyError):
        del overlay["a"]
    with pytest.raises(KeyError):
        overlay["a"]
