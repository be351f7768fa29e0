"""Topologies of applications with instances in Java and in Python, and what they must come to.

They are those of `java/MixedInstance.java`. Results are sets of ids of lines, so that a line that is processed twice
counts once: at least once promises no more. Those of the kinds "counts" (of words) and "lines" (of lines, by key) are
numbers, which show each line that was processed twice, and "merged" copies the lines of all sources. These three are
not among `KINDS`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import reduce
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from kafka_groups.serdes import Windowed
from kafka_groups.streams import (
    JoinWindows,
    KGroupedStream,
    KStream,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    VersionedRecord,
    serdes,
    stores,
)

__all__ = [
    "KINDS",
    "PATTERN",
    "STORE",
    "Line",
    "Result",
    "expected",
    "expected_versions",
    "mixed_topology",
    "window_name",
]

KINDS = ("words", "windows", "sessions", "held", "join", "versions")
STORE = "lines"
PATTERN = "pattern:"
"""The beginning of a source that is a pattern of topics."""
SIZE, GRACE = timedelta(minutes=1), timedelta(days=1)
_SIZE_MS = 60_000


class Line(NamedTuple):
    """A record of the source."""

    id: str
    text: str
    time_ms: int


class Result(NamedTuple):
    """The value that a result must have, and its timestamp."""

    value: str
    time_ms: int


def mixed_topology(kind: str, source: str, sink: str, look: Callable[[str, str], object] | None = None) -> Topology:
    """Return the topology of a kind.

    Args:
        kind: One of `KINDS`, or another one of `java/MixedInstance.java`.
        source: A topic, topics with a plus between them, or `PATTERN` and a pattern of topics.
        sink: The topic of the results.
        look: Called with each line.
    """
    builder = StreamsBuilder()
    is_pattern = source.startswith(PATTERN)
    read = [re.compile(source.removeprefix(PATTERN))] if is_pattern else source.split("+")
    lines = reduce(KStream.merge, [builder.stream(each, key=serdes.string, value=serdes.string) for each in read])
    if look is not None:
        lines = lines.peek(look)
    _result(kind, lines).to(sink, key=serdes.string, value=serdes.string)
    return builder.build()


def _result(kind: str, lines: KStream[str, str]) -> KStream[str, str]:
    if kind in _WITHOUT_WORDS:
        return _WITHOUT_WORDS[kind](lines)
    if kind == "held":
        return _held(_split(lines))
    if kind == "versions":
        return _versions(_split(lines))
    words = _grouped(lines)
    if kind == "words":
        return words.aggregate(str, _with, value=serdes.string, store=STORE).to_stream()
    if kind == "counts":
        return words.aggregate(lambda: "0", _more, value=serdes.string, store=STORE).to_stream()
    if kind == "windows":
        windows = words.windowed_by(TimeWindows(SIZE, grace=GRACE))
        return _named(windows.aggregate(str, _with, value=serdes.string, store=STORE).to_stream())
    sessions = words.windowed_by(SessionWindows(SIZE, grace=GRACE))
    return _named(sessions.aggregate(str, _with, _together, value=serdes.string, store=STORE).to_stream())


def _joined(lines: KStream[str, str]) -> KStream[str, str]:
    even = _split(lines.filter(lambda line, _: _is_even(line)))
    odd = _split(lines.filter_not(lambda line, _: _is_even(line)))
    pairs = even.join(
        odd, "{}+{}".format, windows=JoinWindows(before=SIZE, after=SIZE, grace=GRACE), value=serdes.string,
        name="pairs", store="pairs",
    )  # fmt: skip
    return pairs.map(lambda word, pair: (f"{word}:{pair}", pair), key=serdes.string, value=serdes.string)


def _by_key(lines: KStream[str, str]) -> KStream[str, str]:
    grouped = lines.group_by_key(key=serdes.string, value=serdes.string)
    return grouped.aggregate(lambda: "0", _more, value=serdes.string, store=STORE).to_stream()


_WITHOUT_WORDS: Mapping[str, Callable[[KStream[str, str]], KStream[str, str]]] = MappingProxyType({
    "merged": lambda lines: lines, "lines": _by_key, "join": _joined,
})  # fmt: skip


def _held(words: KStream[str, str]) -> KStream[str, str]:
    """Two joins that share a repartition topic, with a table whose copartitioning Kafka Streams forgets."""
    grouped = words.group_by_key(key=serdes.string, value=serdes.string, name="words")
    table = grouped.aggregate(str, _with, value=serdes.string, store=STORE)
    held = table.suppress(Suppressed.until_time_limit(timedelta(milliseconds=1)))
    inner = words.join(held, lambda line, _: line, value=serdes.string)
    merged = inner.merge(words.left_join(held, lambda line, _: line, value=serdes.string))
    return merged.map(lambda word, line: (f"{word}:{line}", line), key=serdes.string, value=serdes.string)


def _versions(words: KStream[str, str]) -> KStream[str, str]:
    """The lines of each word, as versions of a table that are valid from their times on."""
    store = stores.versioned(STORE, serdes.string, serdes.string, history=GRACE)
    found = words.to_table(name="versions", store=store).to_stream()
    return found.map(lambda word, line: (f"{word}:{line}", line), key=serdes.string, value=serdes.string)


def _is_even(line: str) -> bool:
    return int(line.partition("-")[2]) % 2 == 0


def _split(lines: KStream[str, str]) -> KStream[str, str]:
    return lines.flat_map(
        lambda line, text: [(word, line) for word in text.split()], key=serdes.string, value=serdes.string
    )


def _grouped(lines: KStream[str, str]) -> KGroupedStream[str, str]:
    return _split(lines).group_by_key(key=serdes.string, value=serdes.string, name="words")


def _named(windows: KStream[Windowed[str], str]) -> KStream[str, str]:
    return windows.select_key(lambda window, _: window_name(window), key=serdes.string)


def window_name(window: Windowed[str]) -> str:
    """Return the key that the output has for a window."""
    return f"{window.key}@{window.window.start_ms}-{window.window.end_ms}"


def _with(_word: str, line: str, lines: str) -> str:
    return _ids([*lines.split(","), line])


def _more(_word: str, _line: str, count: str) -> str:
    return str(int(count) + 1)


def _together(_word: str, one: str, other: str) -> str:
    return _ids([*one.split(","), *other.split(",")])


def _ids(lines: Iterable[str]) -> str:
    return ",".join(sorted(set(lines) - {""}))


# ---------------------------------------------------------------------------------------------- what must come of lines


def expected(kind: str, lines: Iterable[Line]) -> Mapping[str, Result]:
    """Return the last record of each key of the output."""
    found = _by_word(lines)
    if kind == "join":
        return {key: result for word, each in found.items() for key, result in _pairs(word, each)}
    if kind in {"held", "versions"}:
        return {f"{word}:{each.id}": Result(each.id, each.time_ms) for word, lines in found.items() for each in lines}
    if kind == "words":
        return {word: _summed(each) for word, each in found.items()}
    if kind == "counts":
        return {word: _counted(word, each) for word, each in found.items()}
    groups = _windows if kind == "windows" else _sessions
    return {key: _summed(group) for word, each in found.items() for key, group in groups(word, each)}


def expected_versions(lines: Iterable[Line]) -> Mapping[tuple[str, int], VersionedRecord[str]]:
    """Return what the store of "versions" must tell of each word, as of the times of its lines."""
    found = {}
    for word, each in _by_word(lines).items():
        ordered = sorted(each, key=lambda line: line.time_ms)
        ends = [line.time_ms for line in ordered[1:]]
        for line, end_ms in zip(ordered, [*ends, None], strict=True):
            found[word, line.time_ms] = VersionedRecord(line.id, line.time_ms, end_ms)
    return found


def _by_word(lines: Iterable[Line]) -> Mapping[str, list[Line]]:
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        for word in set(line.text.split()):
            found[word].append(line)
    return found


def _summed(lines: list[Line]) -> Result:
    return Result(_ids(line.id for line in lines), max(line.time_ms for line in lines))


def _counted(word: str, lines: list[Line]) -> Result:
    times = sum(line.text.split().count(word) for line in lines)
    return Result(str(times), max(line.time_ms for line in lines))


def _pairs(word: str, lines: list[Line]) -> Iterator[tuple[str, Result]]:
    even, odd = ([line for line in lines if _is_even(line.id) is wanted] for wanted in (True, False))
    for one, other in product(even, odd):
        if abs(one.time_ms - other.time_ms) <= _SIZE_MS:
            pair = f"{one.id}+{other.id}"
            yield f"{word}:{pair}", Result(pair, max(one.time_ms, other.time_ms))


def _windows(word: str, lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
    for start_ms in {line.time_ms // _SIZE_MS * _SIZE_MS for line in lines}:
        yield (
            f"{word}@{start_ms}-{start_ms + _SIZE_MS}",
            [line for line in lines if line.time_ms // _SIZE_MS * _SIZE_MS == start_ms],
        )


def _sessions(word: str, lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
    session: list[Line] = []
    for line in sorted(lines, key=lambda line: line.time_ms):
        if session and line.time_ms - session[-1].time_ms > _SIZE_MS:
            yield _session_name(word, session), session
            session = []
        session.append(line)
    yield _session_name(word, session), session


def _session_name(word: str, session: list[Line]) -> str:
    return f"{word}@{session[0].time_ms}-{session[-1].time_ms}"
