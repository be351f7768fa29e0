"""The persistent map against copies of a dictionary: all versions at once."""

import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.persistent_map import PersistentMap

KEYS = st.integers(0, 8)
CHANGES = st.tuples(st.dictionaries(KEYS, st.integers(), max_size=4), st.lists(KEYS, max_size=3), st.integers(0, 3))


@given(st.lists(CHANGES, max_size=25))
def test_each_version_stays_as_it_was(made: list[tuple[dict[int, int], list[int], int]]) -> None:
    versions: list[PersistentMap[int, int]] = [PersistentMap()]
    models: list[dict[int, int]] = [{}]
    for put, removed, back in made:
        # Most changes are made to the newest version, and some to an older one.
        source = max(len(versions) - 1 - (back if back > 1 else 0), 0)
        versions.append(versions[source].with_entries(put, removed))
        models.append({key: value for key, value in {**models[source], **put}.items() if key not in removed})
    for version, model in zip(versions, models, strict=True):
        assert {key: version.get(key) for key in version} == model
        assert sorted(version.values()) == sorted(model.values())
        assert len(version) == len(model)
        for key in range(10):
            assert version.get(key, "none") == model.get(key, "none")
            assert (key in version) is (key in model)


@given(st.lists(CHANGES, max_size=25))
def test_the_newest_version_has_the_order_of_a_dictionary(made: list[tuple[dict[int, int], list[int], int]]) -> None:
    newest: PersistentMap[int, int] = PersistentMap()
    model: dict[int, int] = {}
    for put, removed, _ in made:
        newest = newest.with_entries(put, removed)
        model.update(put)
        for key in removed:
            model.pop(key, None)
        assert list(newest) == list(model)


def test_a_version_that_nobody_has_leaves_nothing_behind() -> None:
    class Value:
        pass

    value = Value()
    is_alive = weakref.ref(value)
    newest: PersistentMap[str, Value | None] = PersistentMap()
    newest = newest.with_entries({"a": value})
    newest = newest.with_entries({"a": None})
    del value
    gc.collect()
    assert is_alive() is None
    assert newest.get("a", 1) is None
