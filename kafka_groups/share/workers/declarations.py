"""Declare handlers: the decorators of a worker, with the types of what they take and return."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack, overload

from typing_extensions import TypeVar

from kafka_groups.serdes.serde import Serde
from kafka_groups.share.workers.handlers import (
    BatchDecorator,
    HandlerDecorator,
    HandlerKeywords,
    HandlerSpec,
    checked_batch,
    checked_handler,
)
from kafka_groups.share.workers.keywords import check_declaration
from kafka_groups.share.workers.options.declared_handlers import check_declared
from kafka_groups.share.workers.outputs import AnyOutputs, HandlerResult, Output, OutputList, RoutedResult

__all__ = ["HandlerDeclarations"]

TopicNames = str | Sequence[str]

# Without a serde, values and keys are bytes.
V = TypeVar("V", default=bytes)
OutputK = TypeVar("OutputK", default=bytes)
OutputV = TypeVar("OutputV", default=bytes)


class HandlerDeclarations:
    """The handlers of a worker, and the decorators that declare them."""

    def __init__(self) -> None:
        self._specs: list[HandlerSpec] = []

    @property
    def handlers(self) -> Sequence[HandlerSpec]:
        """The handlers, in the order of their declaration."""
        return tuple(self._specs)

    @overload
    def handler(
        self,
        topics: TopicNames,
        *,
        value: Serde[V] | None = None,
        output: None = None,
        **options: Unpack[HandlerKeywords],
    ) -> HandlerDecorator[V, object]: ...

    @overload
    def handler(
        self,
        topics: TopicNames,
        *,
        value: Serde[V] | None = None,
        output: Output[OutputK, OutputV] | str,
        **options: Unpack[HandlerKeywords],
    ) -> HandlerDecorator[V, HandlerResult[OutputK, OutputV]]: ...

    @overload
    def handler(
        self,
        topics: TopicNames,
        *,
        value: Serde[V] | None = None,
        output: OutputList,
        **options: Unpack[HandlerKeywords],
    ) -> HandlerDecorator[V, RoutedResult]: ...

    def handler(
        self,
        topics: TopicNames = (),
        *,
        value: Serde[Any] | None = None,
        output: AnyOutputs | None = None,
        **options: Unpack[HandlerKeywords],
    ) -> HandlerDecorator[Any, Any]:
        """Declare the handler of some topics: a function of the value, or of the value and the record.

        The function is returned unchanged, so that tests can call it. It may be declared with `def` or `async def`.

        Args:
            topics: A topic, or several. Each topic has one handler.
            value: Parses the values; without it they are bytes. A null value fails, unless it is `serdes.nullable`.
            output: Where results are written: a topic that takes bytes, an `Output` with serdes, or a list of them.
                The function returns a value, a `ProducerRecord`, a list or tuple of these, or None, which writes
                nothing; or it yields them. Its record is accepted when the brokers have confirmed all of them. None
                ignores results.
            **options: The other options; see `HandlerKeywords`.

        Raises:
            ConfigurationError: There is no topic, or an option is unknown or invalid. The decorator raises it for a
                function that does not fit, and for a topic that has a handler already.
        """
        check_declaration("handler", topics, options)

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            self._add(checked_handler(function, topics, value=value, output=output, options=options))
            return function

        return declare

    @overload
    def batch_handler(
        self,
        topics: TopicNames,
        *,
        value: Serde[V],
        output: AnyOutputs | None = None,
        max_records: int = 500,
        max_wait: float = 1.0,
        **options: Unpack[HandlerKeywords],
    ) -> BatchDecorator[V]: ...

    @overload
    def batch_handler(
        self,
        topics: TopicNames,
        *,
        value: None = None,
        output: AnyOutputs | None = None,
        max_records: int = 500,
        max_wait: float = 1.0,
        **options: Unpack[HandlerKeywords],
    ) -> BatchDecorator[bytes]: ...

    def batch_handler(
        self,
        topics: TopicNames = (),
        *,
        value: Serde[Any] | None = None,
        output: AnyOutputs | None = None,
        max_records: int = 500,
        max_wait: float = 1.0,
        **options: Unpack[HandlerKeywords],
    ) -> BatchDecorator[Any]:
        """Declare the handler of some topics that gets a `Batch` of records.

        All records of the batch are accepted when the function returns, but for those that it retries or rejects. If it
        raises, the batch is run again in halves, to find the records that make it fail.

        Args:
            topics: A topic, or several. Each topic has one handler.
            value: Parses the values; without it they are bytes.
            output: Where `batch.output` writes: a topic that takes bytes, an `Output` with serdes, or a list of them.
            max_records: The most records of a batch.
            max_wait: How long the first record of a batch waits for others, in seconds.
            **options: The other options but `order_by`; see `HandlerKeywords`. `concurrency` counts batches.

        Raises:
            ConfigurationError: There is no topic, or an option is unknown or invalid. The decorator raises it for a
                function that does not fit, and for a topic that has a handler already.
        """
        check_declaration("batch_handler", topics, options)
        limits = checked_batch(max_records, max_wait)

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            spec = checked_handler(function, topics, value=value, output=output, batch=limits, options=options)
            self._add(spec)
            return function

        return declare

    def _add(self, spec: HandlerSpec) -> None:
        self._check_may_declare(spec.name)
        check_declared(spec, self._specs)
        self._specs.append(spec)

    def _check_may_declare(self, name: str) -> None:
        """Raise `IllegalStateError` if it is too late for a handler of this name."""
