"""Blocking clients are generated: the modules are up to date, and the generator says what it cannot translate."""

import inspect
from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, KafkaAdmin
from kafka_groups.streams import AsyncStreamsGroupMember, StreamsGroupMember
from tests.generating.facades import COMMAND, Facade, FacadeError, blocking, generated

PAIRS = [(AsyncKafkaAdmin, KafkaAdmin), (AsyncStreamsGroupMember, StreamsGroupMember)]

ASYNC = '''
"""A client."""

from collections.abc import Iterable, Mapping
from typing import Self

from kafka_groups.errors import ClosedError, KafkaGroupsError

class AsyncThing:
    """A thing, for asyncio.

    It counts.
    """

    # In the blocking class, for the paragraph "A thing, for":
    #   A thing;
    #   its methods block.

    def __init__(self) -> None:
        self.is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None) -> None:
        await self.close()

    # ------------------------------------------------------------------------ what it counts

    async def _count(self) -> int:
        return 3

    async def count(self, names: Iterable[str] = (), *, each: bool = False) -> Mapping[str, int]:  # noqa: ASYNC109
        """Count. See `AsyncThing`."""
        return {name: await self._count() for name in names}

    def note(self, error: KafkaGroupsError) -> None:
        """Note an error."""

    def metadata(self) -> bytes:
        """Return metadata."""
        return b""

    async def close(self) -> None:
        """Close it."""
'''

BLOCKING = '''"""The blocking thing; generated from `aio.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable, Mapping
from typing import Self

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.thing_thread import _ThingThread

__all__ = ["Thing"]


class Thing(_ThingThread):
    """A thing;
    its methods block.

    It counts.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None) -> None:
        self.close()

    # ------------------------------------------------------------------------ what it counts

    def count(self, names: Iterable[str] = (), *, each: bool = False) -> Mapping[str, int]:
        """Count. See `Thing`."""
        return self._run(self._thing.count(names, each=each))

    def note(self, error: KafkaGroupsError) -> None:
        """Note an error."""
        self._call(self._thing.note, error)

    def metadata(self) -> bytes:
        """Return metadata."""
        return self._thing.metadata()

    def close(self) -> None:
        """Close it."""
        self._close()
'''

THING = Facade(
    source="aio.py",
    target="thing.py",
    summary="The blocking thing",
    names=("AsyncThing", "Thing"),
    base=("kafka_groups.thing_thread", "_ThingThread"),
    attribute="_thing",
    by_hand=frozenset({"close"}),
    anywhere=frozenset({"metadata"}),
)


def public(cls: type) -> dict[str, Any]:
    return {name: member for name, member in inspect.getmembers(cls) if not name.startswith("_")}


def test_generated_modules_are_up_to_date() -> None:
    assert {path: path.read_text(encoding="utf-8") for path in generated()} == generated(), f"run `{COMMAND}`"


@pytest.mark.parametrize(("asynchronous", "blocks"), PAIRS, ids=lambda cls: cls.__name__)
def test_both_classes_have_the_same_methods(asynchronous: type, blocks: type) -> None:
    assert public(asynchronous).keys() == public(blocks).keys()
    assert inspect.signature(asynchronous) == inspect.signature(blocks)
    for name, member in public(blocks).items():
        assert not inspect.iscoroutinefunction(member), name
        if not isinstance(member, property):
            assert inspect.signature(member) == inspect.signature(public(asynchronous)[name]), name


def test_what_the_generator_makes_of_a_class() -> None:
    assert blocking(THING, ASYNC) == BLOCKING


@pytest.mark.parametrize(
    ("count", "call"),
    [
        (6, "return self._run(\n            self._thing.count({names})\n        )\n"),
        (7, "return self._run(\n            self._thing.count(\n                {names}\n            )\n        )\n"),
    ],
)
def test_what_is_too_long_is_wrapped_as_the_formatter_does(count: int, call: str) -> None:
    names = [f"a_long_name_{number}" for number in range(count)]
    parameters = [f"{name}: int" for name in names]
    made = blocking(THING, ASYNC.replace("names: Iterable[str] = (), *, each: bool = False", ", ".join(parameters)))
    listed = "".join(f"        {parameter},\n" for parameter in ["self", *parameters])
    assert f"    def count(\n{listed}    ) -> Mapping[str, int]:\n" in made
    assert call.format(names=", ".join(names)) in made


@pytest.mark.parametrize("words", ["`await thing.count()`", "Use `async with`.", "For asyncio."])
def test_a_docstring_for_asyncio_alone_is_refused(words: str) -> None:
    with pytest.raises(FacadeError, match="count: the docstring suits only asyncio"):
        blocking(THING, ASYNC.replace("Count. See", f"{words} See"))


def test_a_block_that_replaces_nothing_is_refused() -> None:
    with pytest.raises(FacadeError, match="0 paragraphs begin with 'A thing, for'"):
        blocking(THING, ASYNC.replace('"""A thing, for asyncio', '"""One thing'))
