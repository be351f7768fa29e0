"""Processors of the user's: functions and classes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen

from kafka_groups.streams.topology.context import Processor, ProcessorContext, open_store
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep, Operator
from kafka_groups.streams.topology.records import Record, refused_record
from kafka_groups.types import Headers

__all__ = ["UserFunction", "UserProcessor", "user_operator"]


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
                        results = iter(function(Record(key, value, timestamp_ms, headers), *stores) or ())
                    result = next(results)
                    if not isinstance(result, Record) or result.timestamp_ms < 0:
                        raise refused_record(result)
                    if keeps_key and result.key is not key and result.key != key:
                        raise ValueError(
                            f"process_values got the key {key!r} and returned {result.key!r}. Use process."
                        )
                except StopIteration:
                    return
                except Exception as error:
                    failed(error, key, value, timestamp_ms, headers)
                    return
                forward(result.key, result.value, result.timestamp_ms, result.headers)

        return step


@frozen
class UserProcessor:
    """Makes a processor for each task, and gives it the records."""

    factory: Callable[[], Processor[Any, Any, Any, Any]]
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        processor, failed, context = self.factory(), node.failed, node.record
        node.on_init(lambda task: processor.init(ProcessorContext(node, task)))
        node.on_close(processor.close)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            context.timestamp_ms, context.headers = timestamp_ms, headers
            try:
                processor.process(Record(key, value, timestamp_ms, headers))
            except Exception as error:
                failed(error, key, value, timestamp_ms, headers)

        return step


def user_operator(
    word: str,
    function: Callable[..., Iterable[Record[Any, Any]] | None] | None,
    factory: Callable[[], Processor[Any, Any, Any, Any]] | None,
    stores: tuple[str, ...],
) -> Operator:
    """Return the operator of a function with stores, or of a factory of processors.

    Raises:
        TypeError: Both were given, or neither, or it cannot be called, or its call gives no value.
    """
    check_functions(word, yields=True, function=function)
    check_functions(word, factory=factory)
    if function is not None and factory is None:
        return UserFunction(function, stores)
    if factory is not None and function is None:
        return UserProcessor(factory)
    raise TypeError(f"{word} takes a function, or `factory=`. Give one of them.")
