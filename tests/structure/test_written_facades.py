"""Share consumers and streams applications, whose two classes are written by hand, differ in no more than they must."""

import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.share import AsyncKafkaShareConsumer, KafkaShareConsumer
from kafka_groups.streams import AsyncKafkaStreams, KafkaStreams

PAIRS = [(KafkaShareConsumer, AsyncKafkaShareConsumer), (KafkaStreams, AsyncKafkaStreams)]

NAMES = {"__enter__": "__aenter__", "__exit__": "__aexit__", "__iter__": "__aiter__"}
"""Methods that the language calls otherwise in asyncio."""

ASYNC_ONLY = {"commit"}
"""`await consumer.commit()`: what is called commit_sync is no call that blocks, in asyncio."""

RETURNS = {"__iter__": ("Iterator", "AsyncIterator")}
"""What the blocking and the asynchronous method return, where that differs."""

WORDS: Mapping[str, Mapping[str, str]] = {
    "KafkaShareConsumer": {
        "(KIP-932); its methods block.": "(KIP-932), for asyncio.",
        "A background thread sends heartbeats and fetches ahead while your program works. Use a consumer from one"
        " thread at a time; only `wakeup`, `state` and `metrics` may be used from any. Use it in a `with` statement, or"
        " call `close`.": "A consumer belongs to one event loop, and to one task at a time. Heartbeats are sent while"
        " your program works, as long as it lets the event loop run. Use it in an `async with` statement, or call"
        " `close`.",
    },
    "KafkaStreams": {
        "topology: members of the application's streams group, in a thread or in processes of their own. Every process"
        " that runs the same topology with the same `application_id` takes part in the work. Records are processed at"
        " least once: after a failure, another process continues from the last commit. Records with the time 0 are"
        " written with the time 1 ms.": "topology as `KafkaStreams` does, for asyncio: waiting for it does not block"
        " the event loop. The workers run in a thread or in processes of their own, as those of `KafkaStreams` do, and"
        " the functions of the topology are called there. An application belongs to one event loop.",
        "with KafkaStreams(": "async with AsyncKafkaStreams(",
        "app.wait_until_running(": "await app.wait_until_running(",
        "on the thread that changes it. It must return at once.": "on the event loop.",
    },
    "KafkaStreams.start": {"It was started before.": "It was started before, or on another event loop."},
    "KafkaStreams.close": {
        "Blocks until that is done. A second call has no effect.": "Waits until that is done. A second call has no"
        " effect. If the call is cancelled, the application closes nevertheless.",
    },
    "KafkaStreams.run": {
        "block until Ctrl-C or SIGTERM, or until the application ends": "wait until this call is cancelled or the"
        " application ends",
        "Call it on the main thread.": "Ctrl-C cancels the main task of `asyncio.run`. For SIGTERM, let a handler of"
        " the event loop cancel the task.",
    },
    "KafkaStreams.add_worker": {" Any thread may call it.": ""},
    "KafkaStreams.remove_worker": {
        "Blocks until the worker has left. Any thread may call it, but not `on_state`.": "Waits until the worker has"
        " left.",
    },
    "KafkaStreams.wait_until_running": {"Block until": "Wait until"},
}
"""What the docstring of a blocking class or method says otherwise than the asynchronous one, and how that says it."""


def members(cls: type) -> dict[str, Any]:
    """What a class has for users: public names, and what the language calls for them."""
    named = {name: member for base in reversed(cls.__mro__[:-1]) for name, member in vars(base).items()}
    wanted = {"__init__", *NAMES, *NAMES.values()}
    return {name: member for name, member in named.items() if not name.startswith("_") or name in wanted}


def cases() -> list[Any]:
    """Each member that a blocking class shares with the asynchronous one, and the classes themselves."""
    found = []
    for blocking, asynchronous in PAIRS:
        found.append(pytest.param(blocking.__name__, blocking, asynchronous, id=blocking.__name__))
        theirs = members(asynchronous)
        for name, member in members(blocking).items():
            where = f"{blocking.__name__}.{name}"
            found.append(pytest.param(where, member, theirs.get(NAMES.get(name, name)), id=where))
    return found


def words_of(member: object) -> str:
    """The docstring on one line."""
    return " ".join((inspect.getdoc(member) or "").split())


@pytest.mark.parametrize(("blocking", "asynchronous"), PAIRS, ids=lambda cls: cls.__name__)
def test_both_classes_have_the_same_members(blocking: type, asynchronous: type) -> None:
    names = {NAMES.get(name, name) for name in members(blocking)}
    assert members(asynchronous).keys() - names == ASYNC_ONLY & members(asynchronous).keys()
    assert names <= members(asynchronous).keys()


@pytest.mark.parametrize(("where", "ours", "theirs"), cases())
def test_docstrings_differ_in_the_words_of_the_table_only(where: str, ours: object, theirs: object) -> None:
    text = words_of(ours)
    for words, others in WORDS.get(where, {}).items():
        assert text.count(words) == 1, words
        text = text.replace(words, others)
    assert words_of(theirs) == text


@pytest.mark.parametrize(("where", "ours", "theirs"), cases())
def test_signatures_are_the_same(where: str, ours: object, theirs: object) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, property) or not callable(ours) or not callable(theirs):
        return
    mine, other = inspect.signature(ours), inspect.signature(theirs)
    assert list(mine.parameters.values()) == list(other.parameters.values())
    blocking, asynchronous = RETURNS.get(where.rpartition(".")[2], ("", ""))
    assert str(other.return_annotation) == str(mine.return_annotation).replace(blocking, asynchronous)
