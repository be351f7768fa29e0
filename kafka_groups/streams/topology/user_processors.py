"""Processors of the user's: functions and classes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen

from kafka_groups.errors.texts import represented
from kafka_groups.streams.topology.context import (
    ProcessingContext,
    Processor,
    ProcessorContext,
    TaskServices,
    open_store,
)
from kafka_groups.streams.topology.fixed_keys import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    fixed_key_record,
)
from kafka_groups.streams.topology.functions import check_functions, check_methods
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep, Operator
from kafka_groups.streams.topology.records import Record, refused_record
from kafka_groups.types import Headers

__all__ = ["UserFunction", "UserProcessor", "check_factory", "user_operator"]


@frozen
class UserFunction:
    """Calls a function with each record and the stores, and forwards the records that it returns or yields."""

    function: Callable[..., Iterable[Record[Any, Any]] | None]
    stores: tuple[str, ...] = ()
    keeps_key: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        stores = [open_store(node, name) for name in self.stores]
        forward, failed, function, context = node.forward, node.failed, self.function, node.record
        keeps_key = self.keeps_key

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            context.timestamp_ms, context.headers = timestamp_ms, headers
            results: Iterator[Any] | None = None
            while True:
                try:
                    if results is None:
                        # A generator runs as far as its next record, which is forwarded before it goes on. So what it
                        # does after a `yield` sees what the record's way down has changed, as after `context.forward`.
                        results = iter(function(Record(key, value, timestamp_ms, headers), *stores) or ())
                    result = next(results)
                    if not isinstance(result, Record) or result.timestamp_ms < 0:
                        raise refused_record(result)
                    # Java's types make this impossible (FixedKeyRecord has no way to change the key). A changed key
                    # would be in the wrong partition, as nothing repartitions below.
                    if keeps_key and result.key is not key and result.key != key:
                        raise ValueError(
                            f"process_values got the key {represented(key)} and returned "
                            f"{represented(result.key)}. To change keys, use process."
                        )
                except StopIteration:
                    return
                except Exception as error:  # the user's function may raise anything: the handler decides
                    failed(error, key, value, timestamp_ms, headers)
                    return
                forward(result.key, result.value, result.timestamp_ms, result.headers)

        return step


@frozen
class UserProcessor:
    """Makes a processor for each task, and gives it the records.

    Attributes:
        factory: Makes a `Processor`, or a `FixedKeyProcessor` if it keeps keys.
        keeps_key: Whether the keys of records cannot be changed.
    """

    factory: Callable[[], Any]
    keeps_key: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        processor, failed, context = node.prepared("factory", self.factory), node.failed, node.record
        _open_and_close(node, processor, FixedKeyProcessorContext if self.keeps_key else ProcessorContext)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            context.timestamp_ms, context.headers = timestamp_ms, headers
            try:
                processor.process(Record(key, value, timestamp_ms, headers))
            except Exception as error:  # the user's processor may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)

        def fixed_key_step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            context.timestamp_ms, context.headers = timestamp_ms, headers
            try:
                processor.process(fixed_key_record(Record(key, value, timestamp_ms, headers)))
            except Exception as error:  # the user's processor may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)

        return fixed_key_step if self.keeps_key else step


def _open_and_close(node: NodeContext, processor: Any, context: type[ProcessingContext]) -> None:
    """Initialise a processor with its task, and close it once if that has succeeded."""
    is_open = False

    def init(task: TaskServices) -> None:
        nonlocal is_open
        node.prepared("init", lambda: processor.init(context(node, task)))
        is_open = True

    def close() -> None:
        nonlocal is_open
        # A processor whose `init` failed is not closed, as in Java, where a task that is not running closes none
        # (StreamTask.suspend). One that is closed already is not closed again.
        if is_open:
            is_open = False
            node.prepared("close", processor.close)

    node.on_init(init)
    node.on_close(close)


def check_factory(word: str, factory: Callable[[], object], *, keeps_key: bool = False) -> None:
    """Refuse a factory whose processors tasks would share, or whose methods do nothing.

    A factory that is not a class is called twice, as Java's `ApiUtils.checkSupplier` does: one that returns the same
    object again would mix the stores and contexts of tasks.

    Raises:
        TypeError: See above.
    """
    check_functions(word, factory=factory)
    made: object = factory
    # A class makes a new object at each call, unless it overrides that: then it need not be called here, where its
    # constructor might already open something.
    if not isinstance(factory, type) or _may_share_objects(factory):
        made = factory()
        # ApiUtils.checkSupplier in Kafka.
        if made is factory():
            raise TypeError(
                f"{word}: factory={factory!r} returns the same object again, but each task needs a processor of its "
                "own. Give the class, or a function that makes a new object each time."
            )
    wanted, other = (FixedKeyProcessor, Processor) if keeps_key else (Processor, FixedKeyProcessor)
    if issubclass(made if isinstance(made, type) else type(made), other):
        raise TypeError(f"{word}: factory={factory!r} makes a {other.__name__}. Derive it from {wanted.__name__}.")
    instead = "Call self.context.forward for each result"
    check_methods(f"{word}: factory", made, ("init", "process", "close"), instead_of_yield=instead)


def _may_share_objects(kind: type) -> bool:
    """Return whether calling a class may return an object that is there already: by `__new__`, or by its metaclass."""
    return type(kind).__call__ is not type.__call__ or any("__new__" in vars(each) for each in kind.__mro__[:-1])


def user_operator(
    word: str,
    function: Callable[..., Iterable[Record[Any, Any]] | None] | None,
    factory: Callable[[], Processor[Any, Any, Any, Any]] | Callable[[], FixedKeyProcessor[Any, Any, Any]] | None,
    stores: tuple[str, ...],
    *,
    keeps_key: bool = False,
) -> Operator:
    """Return the operator of a function with stores, or of a factory of processors.

    Raises:
        TypeError: Both were given, or neither, or it cannot be called, or its call gives no value. Or the factory makes
            no processor, the same one again, or one with methods that do nothing.
    """
    check_functions(word, yields=True, function=function)
    if function is not None and factory is None:
        return UserFunction(function, stores, keeps_key)
    if factory is not None and function is None:
        check_factory(word, factory, keeps_key=keeps_key)
        return UserProcessor(factory, keeps_key)
    raise TypeError(f"{word} takes a function, or `factory=`. Give one of them.")
