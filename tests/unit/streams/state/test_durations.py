"""Every duration that a user gives is refused if it is negative or no `timedelta`, with the name of its argument."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import (
    JoinWindows,
    KGroupedStream,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    stores,
)

S = timedelta(seconds=5)
STORE = ("counts", serdes.string, serdes.int64)


def grouped() -> KGroupedStream[str, str]:
    return StreamsBuilder().stream("posts", key=serdes.string, value=serdes.string).group_by_key()


def newest(_key: Any, value: Any, _result: Any) -> Any:
    return value


def no_text() -> str:
    return ""


TUMBLING, SESSIONS = TimeWindows(S, grace=S), SessionWindows(S, grace=S)

CALLS: list[tuple[str, Callable[[Any], object]]] = [
    ("size", lambda given: TimeWindows(given, grace=S)),
    ("advance", lambda given: TimeWindows(S, advance=given, grace=S)),
    ("grace", lambda given: TimeWindows(S, grace=given)),
    ("difference", lambda given: SlidingWindows(given, grace=S)),
    ("grace", lambda given: SlidingWindows(S, grace=given)),
    ("gap", lambda given: SessionWindows(given, grace=S)),
    ("grace", lambda given: SessionWindows(S, grace=given)),
    ("before", lambda given: JoinWindows(before=given, after=timedelta(0), grace=S)),
    ("after", lambda given: JoinWindows(before=timedelta(0), after=given, grace=S)),
    ("grace", lambda given: JoinWindows(before=S, after=S, grace=given)),
    ("retention", lambda given: grouped().windowed_by(TUMBLING).count(retention=given)),
    ("retention", lambda given: grouped().windowed_by(TUMBLING).reduce(max, retention=given)),
    ("retention", lambda given: grouped().windowed_by(TUMBLING).aggregate(no_text, newest, retention=given)),
    ("retention", lambda given: grouped().windowed_by(SESSIONS).count(retention=given)),
    ("retention", lambda given: grouped().windowed_by(SESSIONS).reduce(max, retention=given)),
    ("retention", lambda given: grouped().cogroup(newest).windowed_by(TUMBLING).aggregate(no_text, retention=given)),
    ("limit", Suppressed.until_time_limit),
    ("size", lambda given: stores.window(*STORE, size=given, retention=S)),
    ("retention", lambda given: stores.window(*STORE, size=S, retention=given)),
    ("retention", lambda given: stores.session(*STORE, retention=given)),
    ("size_ms", lambda given: serdes.time_windowed(serdes.string, given)),
]


@pytest.mark.parametrize("bad", [timedelta(seconds=-1), "5s", 5000.0], ids=repr)
@pytest.mark.parametrize(("argument", "call"), CALLS)
def test_wrong_durations_are_refused_by_name(argument: str, call: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"\b{argument}="):
        call(bad)
