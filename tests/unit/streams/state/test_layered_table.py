"""Uncommitted changes over committed state, against a dictionary."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.layered import LayeredTable

KEYS = st.binary(min_size=0, max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.one_of(st.none(), st.binary(max_size=2))),
        st.tuples(st.just("scan"), KEYS, st.one_of(st.none(), KEYS)),
        st.tuples(st.just("forget"), KEYS, st.none()),
        st.tuples(st.sampled_from(["commit", "abort"]), st.just(b""), st.none()),
    ),
    max_size=60,
)


@given(STEPS)
def test_reads_and_scans_see_what_a_dictionary_would(steps: list[tuple[str, bytes, bytes | None]]) -> None:
    engine = MemoryEngine()
    table = LayeredTable(engine.table("t"))
    committed: dict[bytes, bytes] = {}
    current: dict[bytes, bytes] = {}
    for step, key, other in steps:
        match step:
            case "put" if other is None:
                table.put(key, None)
                current.pop(key, None)
            case "put":
                table.put(key, other)
                current[key] = other or b""
            case "scan":
                expected = sorted((k, v) for k, v in current.items() if key <= k and (other is None or k < other))
                assert table.scan(key, other) == expected
                if other is not None:
                    assert list(table.walk(key, other)) == expected
                    assert list(table.walk(key, other, reverse=True)) == expected[::-1]
            case "forget" if key in table.changes:
                table.forget(key)
                current = {k: v for k, v in current.items() if k != key}
                current |= {key: committed[key]} if key in committed else {}
            case "forget":
                pass
            case "commit":
                engine.commit({"t": table.changes})
                table.forget_changes()
                committed = dict(current)
            case _:
                table.forget_changes()
                current = dict(committed)
        assert table.get(key) == current.get(key)
