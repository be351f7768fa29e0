"""Processors of the user's: exceptions of what no record asks for name the node and the task."""

import functools
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    KStream,
    Processor,
    ProcessorContext,
    Record,
    StreamsBuilder,
    StreamsError,
    Topology,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)


class Failing(Processor[str, str, str, str]):
    """Fails where its class says so, and notes what was called."""

    fails_in: tuple[str, ...] = ()
    called: list[str]

    def __init__(self) -> None:
        self.note("factory")

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.note("init")

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def close(self) -> None:
        self.note("close")

    def note(self, method: str) -> None:
        self.called.append(method)
        if method in self.fails_in:
            raise ValueError(f"in {method}")


class Passing(Processor[str, str, str, str]):
    """Forwards its records."""

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def read() -> KStream[str, str]:
    return StreamsBuilder().stream("in", key=TEXT, value=TEXT)


SHARED = Passing()


class Single(Passing):
    """Has one object."""

    def __new__(cls) -> "Single":
        return SINGLE


SINGLE = object.__new__(Single)


class OneOfEach(type):
    """A metaclass whose classes have one object each."""

    made: ClassVar[dict[type, object]] = {}

    def __call__(cls) -> object:
        return cls.made.setdefault(cls, super().__call__())


class OfMetaclass(Passing, metaclass=OneOfEach):
    """Has one object, by its metaclass."""


@pytest.mark.parametrize(
    "factory",
    [lambda: SHARED, functools.cache(Passing), Single, OfMetaclass],
    ids=["object", "cache", "new", "metaclass"],
)
def test_a_factory_that_returns_one_object_for_all_tasks_is_refused(factory: Callable[[], Passing]) -> None:
    places: list[Callable[[], object]] = [
        lambda: read().process(factory=factory),
        lambda: StreamsBuilder().add_global_store(SEEN, "seen", factory=factory, key=TEXT, value=TEXT),
        lambda: Topology().add_source("read", "in", key=TEXT, value=TEXT).add_processor(
            "do", factory=factory, parents=["read"]
        ),
    ]  # fmt: skip
    for place in places:
        with pytest.raises(TypeError, match="returns the same object again, but each task needs a processor"):
            place()


async def awaited(*_given: object) -> None:
    """Do nothing."""


def yielding(*given: object) -> Iterator[object]:
    yield given


@pytest.mark.parametrize("method", ["init", "process", "close"])
@pytest.mark.parametrize("is_class", [True, False])
def test_methods_that_do_nothing_are_refused(method: str, is_class: bool) -> None:
    for function, text in ((awaited, "is declared with async def"), (yielding, "Call self.context.forward for each")):
        kind = type("Visits", (Passing,), {method: function})
        factory = kind if is_class else lambda kind=kind: kind()
        with pytest.raises(TypeError, match=f"process: factory: the method '{method}' of Visits .*{text}"):
            read().process(factory=factory)


def test_a_factory_of_what_is_no_processor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"process: factory: dict has no method 'init'\. Define it\."):
        read().process(factory=dict)  # type: ignore[arg-type]


def test_a_factory_that_makes_new_objects_is_taken() -> None:
    for factory in (Passing, functools.partial(Passing)):
        builder = StreamsBuilder()
        builder.stream("in", key=TEXT, value=TEXT).process(factory=factory, key=TEXT, value=TEXT).to("out")
        with TopologyTestDriver(builder.build(), default_partitions=2) as driver:
            for partition in (0, 1):
                driver.input_topic("in", TEXT, TEXT).pipe("k", "v", partition=partition)
            assert len(driver.records("out")) == 2


def made(*names: str, fails_in: tuple[str, ...]) -> tuple[Topology, list[str]]:
    """A topology of these processors one after another, and what they note."""
    noted: list[str] = []
    kind = type("Kind", (Failing,), {"fails_in": fails_in, "called": noted})
    builder = StreamsBuilder()
    read = builder.stream("in", key=TEXT, value=TEXT)
    for name in names:
        read = read.process(factory=kind, name=name, key=TEXT, value=TEXT)
    read.to("out")
    return builder.build(), noted


@pytest.mark.parametrize("method", ["factory", "init"])
def test_a_processor_that_cannot_begin_is_named(method: str) -> None:
    topology, _ = made("check", fails_in=(method,))
    with pytest.raises(
        StreamsError, match=rf"^{method} of check in task 0_0 failed: ValueError: in {method}\.$"
    ) as raised:
        TopologyTestDriver(topology)
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_processor_that_cannot_be_closed_is_named_and_the_others_are_closed() -> None:
    topology, noted = made("first", "second", fails_in=("close",))
    driver = TopologyTestDriver(topology)
    with pytest.raises(StreamsError, match=r"^close of \w+ in task 0_0 failed: ValueError: in close\.$"):
        driver.close()
    assert noted.count("close") == 2


def test_a_processor_whose_init_failed_is_not_closed_and_others_are_closed_once() -> None:
    topology, noted = made("first", fails_in=())
    driver = TopologyTestDriver(topology)
    (task,) = driver._tasks
    task.close()
    driver.close()
    assert noted == ["factory", "init", "close"]
    topology, noted = made("first", fails_in=("init",))
    with pytest.raises(StreamsError, match="init of first"):
        TopologyTestDriver(topology)
    assert noted == ["factory", "init"]
