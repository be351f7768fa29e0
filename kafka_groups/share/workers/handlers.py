"""The handlers of a worker: functions with their topics and options, checked when they are declared."""

import inspect
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Concatenate, Literal, Protocol, TypedDict, TypeVar, overload

from attrs import field, frozen

from kafka_groups.config.clients.timeouts import checked_seconds
from kafka_groups.config.places import checked_topic
from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import name_of
from kafka_groups.serdes.serde import Serde
from kafka_groups.share.delivery.records import AnyRecord, ShareRecord
from kafka_groups.share.workers.batch import Batch
from kafka_groups.share.workers.delay_option import checked_delay
from kafka_groups.share.workers.dependencies import DependencyPlan, planned_dependencies, without_injected
from kafka_groups.share.workers.outputs import AnyOutput, checked_outputs
from kafka_groups.share.workers.rate_limits import RateLimit, checked_rate_limit
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError, ParseError, Reject, Retry
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.limits import BatchSizes
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics

__all__ = [
    "BatchDecorator",
    "HandlerDecorator",
    "HandlerKeywords",
    "HandlerSpec",
    "KeyFunction",
    "OrderBy",
    "checked_batch",
    "checked_handler",
    "checked_topics",
    "is_async_generator",
    "is_of_a_class",
    "record_key",
]

V = TypeVar("V")
R = TypeVar("R")
V_contra = TypeVar("V_contra", contravariant=True)
E_co = TypeVar("E_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

KeyFunction = Callable[[ShareRecord[bytes, Any]], Hashable]
OrderBy = Literal["key"] | KeyFunction
"""The records that keep an order: those with the same key, or with the same result of a function of the record."""

DEFAULT_THREADS = 8
DEFAULT_TASKS = 100
DEFAULT_OUTAGES: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
_MOST_THREADS = 1_000
_MOST_TASKS = 100_000
_LARGEST_BUFFER = 100_000
_LARGEST_BATCH = 100_000
_LONGEST_BATCH_WAIT_S = 60.0


class _OfValue(Protocol[V_contra, E_co, R_co]):
    """A function of the value whose result is an `E`, and more precisely an `R`.

    A type variable can have no bound that depends on another one. A function with two signatures has both, so the
    first one checks the result, and the second one infers it.
    """

    @overload
    def __call__(self, value: V_contra, /) -> E_co: ...

    @overload
    def __call__(self, value: V_contra, /) -> R_co: ...  # type: ignore[overload-cannot-match]


class _OfRecord(Protocol[V, E_co, R_co]):
    """A function of the value and the record; see `_OfValue`."""

    @overload
    def __call__(self, value: V, record: ShareRecord[bytes, V], /) -> E_co: ...

    @overload
    def __call__(self, value: V, record: ShareRecord[bytes, V], /) -> R_co: ...  # type: ignore[overload-cannot-match]


class HandlerDecorator(Protocol[V, E_contra]):
    """Declares a function as a handler, and returns it unchanged.

    `V` is the type of the values, and `E` what the function may return, without or with `async def`. In the type of the
    result, further arguments follow those of the worker, so that a test may pass dependencies.
    """

    @overload
    def __call__(
        self, function: _OfValue[V, E_contra | Coroutine[Any, Any, E_contra], R], /
    ) -> Callable[Concatenate[V, ...], R]: ...

    @overload
    def __call__(
        self, function: _OfRecord[V, E_contra | Coroutine[Any, Any, E_contra], R], /
    ) -> Callable[Concatenate[V, ShareRecord[bytes, V], ...], R]: ...


class BatchDecorator(Protocol[V]):
    """Declares a function of a `Batch` as a handler, and returns it unchanged; see `HandlerDecorator`."""

    @overload
    def __call__(
        self, function: Callable[[Batch[V]], Coroutine[Any, Any, None]], /
    ) -> Callable[Concatenate[Batch[V], ...], Coroutine[Any, Any, None]]: ...

    @overload
    def __call__(self, function: Callable[[Batch[V]], None], /) -> Callable[Concatenate[Batch[V], ...], None]: ...


class HandlerKeywords(TypedDict, total=False):
    """The options of a handler."""

    name: str
    """The handler's name in logs and metrics; by default the function's."""

    dead_letters: str | None
    """The topic for copies of records that are given up. None uses the group's own dead-letter topic if it has one
    (Kafka 4.4)."""

    concurrency: int
    """The number of records that run at once: by default 8 for a `def`, 100 for an `async def`, one batch for a batch
    handler."""

    buffer: int | None
    """The number of records to acquire ahead. By default as many as run at once, or what they finish in 100 ms."""

    timeout: float | None
    """The longest time of an attempt, in seconds. An `async def` is cancelled, which counts as a failure with
    `AttemptTimeoutError`. A thread cannot be stopped: the process reports it, finishes its other work, and exits with
    status 70."""

    order_by: OrderBy | None
    """`"key"`, or a function of the record that returns a key: within this process, records of one key run one by one,
    in the order of their offsets. Not for batch handlers."""

    retries: Backoff
    """The waits between attempts, and how many retries there are with each delivery."""

    errors: Mapping[type[Exception], OnError | Backoff]
    """Rules for certain errors. The nearest class in the error's method resolution order wins. Errors with a rule never
    count for the breaker. `Reject` and `Retry` have no rules: they decide themselves."""

    outages: Sequence[type[Exception]]
    """Errors that are the fault of the sink: they use no retry during the first hour after the record's first failure.
    They count for the breaker, like all errors without a rule in `errors`, so `()` does not keep it closed. By default
    ConnectionError and TimeoutError, but an exceeded `timeout` only if `AttemptTimeoutError` itself is named."""

    exhausted: OnError | None
    """The rule for records that failed too often, or whose value cannot be parsed. By default they become dead
    letters if a topic for them is known. Otherwise they are held."""

    on_blocked: OnError | None
    """The rule for a record that waits for a retry and fills the window of its partition. None keeps it."""

    rate_limit: str | RateLimit | None
    """The most attempts that may start in a time: `"10/s"`, `"100/m"`, `"1000/h"`, or a `RateLimit`. It holds for each
    started worker, whose processes have equal parts of it. Retries are attempts, and a batch is as many as it has
    records."""

    retry_topics: RetryTopics | None
    """Topics in which records wait for their next attempt, if that is due after the smallest delay or later, so that
    they hold back no partition. Needs `dead_letters`. Not with `order_by` or `on_blocked`."""

    delay: float | None
    """Seconds that each record waits after its timestamp before its first attempt, from 1 to 604,800 (7 days). Set
    `message.timestamp.type=LogAppendTime` on the topics."""


@frozen(kw_only=True)
class HandlerSpec:
    """A handler: its function, its topics and its options.

    Attributes:
        name: The name in logs and metrics.
        function: The function.
        topics: The topics whose records it gets.
        is_async: Whether it is declared with `async def`.
        wants_record: Whether it takes the record as its second argument.
        value: Parses the values; None passes bytes.
        dead_letters: The topic for copies of records that are given up, or None.
        concurrency: The most attempts at a time.
        buffer: How many records to acquire ahead; None follows the pace.
        timeout_ms: The longest time of an attempt; None for no limit.
        order_by: Whose order is kept; None for no order.
        retries: The waits between attempts.
        errors: Error class → what to do.
        outages: Errors that are the sink's fault.
        exhausted: What happens to records that failed too often; None: a dead letter if there is a topic for them,
            else they are held.
        on_blocked: What happens to a waiting record that fills the window of its partition; None keeps it.
        rate_limit: How many attempts may start; None for no limit.
        retry_topics: Where long waits are spent; None for the process.
        delay_ms: How long records wait after their timestamps; None for not at all.
        batch: The limits of a batch handler; None for a handler of single records.
        dependencies: What its parameters inject.
        outputs: The topics to which its results are written; empty if they are ignored.
    """

    name: str
    function: Callable[..., object] = field(repr=False)
    topics: tuple[str, ...]
    is_async: bool
    wants_record: bool
    value: Serde[Any] | None
    dead_letters: str | None
    concurrency: int
    buffer: int | None
    timeout_ms: int | None
    order_by: OrderBy | None
    retries: Backoff
    errors: Mapping[type[Exception], OnError | Backoff]
    outages: tuple[type[Exception], ...]
    exhausted: OnError | None
    on_blocked: OnError | None
    rate_limit: RateLimit | None = None
    retry_topics: RetryTopics | None = None
    delay_ms: int | None = None
    batch: BatchSizes | None = None
    dependencies: DependencyPlan = field(default=DependencyPlan(), repr=False)
    outputs: tuple[AnyOutput, ...] = ()

    @property
    def writes_records(self) -> bool:
        """True if records may be written for the handler, so that its process needs a writer."""
        return self.dead_letters is not None or self.retry_topics is not None or bool(self.outputs)


def checked_handler(
    function: Callable[..., object],
    topics: str | Sequence[str],
    *,
    value: object = None,
    output: object = None,
    batch: BatchSizes | None = None,
    options: HandlerKeywords,
) -> HandlerSpec:
    """Check a function and its options.

    Args:
        function: The function.
        topics: The topics whose records it gets.
        value: The serde of the values, or None for bytes.
        output: The option `output`, or None if results are ignored.
        batch: The limits of a batch handler; None for a handler of single records.
        options: The keywords that the user gave.

    Raises:
        ConfigurationError: The function does not fit, or an option is invalid. The message names the value.
    """
    names = checked_topics(topics)
    dead_letters = _checked_dead_letters(options.get("dead_letters"), topics)
    outputs = checked_outputs(output, names, dead_letters)
    may_yield = bool(outputs) and batch is None
    arguments = _arguments(function, most=1 if batch is not None else 2, may_yield=may_yield)
    is_async = _is_async(function)
    most, default = (_MOST_TASKS, DEFAULT_TASKS) if is_async else (_MOST_THREADS, DEFAULT_THREADS)
    # A batch handler that ran several batches at once would get smaller ones, and bulk writes often exclude each other.
    default = default if batch is None else 1
    buffer = options.get("buffer")
    return HandlerSpec(
        name=_checked_name(options.get("name"), function),
        function=function,
        topics=names,
        is_async=is_async,
        wants_record=arguments > 1,
        value=_checked_value(value),
        dead_letters=dead_letters,
        concurrency=_checked_count("concurrency", options.get("concurrency", default), most),
        buffer=None if buffer is None else _checked_count("buffer", buffer, _LARGEST_BUFFER),
        timeout_ms=_checked_timeout(options.get("timeout")),
        order_by=_checked_order(options.get("order_by")),
        retries=_checked_retries(options.get("retries")),
        errors=_checked_errors(options.get("errors")),
        outages=_checked_outages(options.get("outages", DEFAULT_OUTAGES)),
        exhausted=_checked_rule("exhausted", options.get("exhausted")),
        on_blocked=_checked_rule("on_blocked", options.get("on_blocked")),
        rate_limit=checked_rate_limit(options.get("rate_limit")),
        retry_topics=_checked_retry_topics(options.get("retry_topics")),
        delay_ms=checked_delay(options.get("delay")),
        batch=batch,
        dependencies=planned_dependencies(function, is_async=is_async),
        outputs=outputs,
    )


# -------------------------------------------------------------------------------------------- the function


def _is_async(function: Callable[..., object]) -> bool:
    # An object with an `async def __call__`, and a function that a decorator wraps, are asynchronous, too.
    called = _called_by(function)
    is_coroutine = inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(called)
    return is_coroutine or is_async_generator(function)


def is_async_generator(function: Callable[..., object]) -> bool:
    """Return whether a handler is declared with `async def` and yields its results."""
    return inspect.isasyncgenfunction(inspect.unwrap(function)) or inspect.isasyncgenfunction(_called_by(function))


def _called_by(function: Callable[..., object]) -> Callable[..., object]:
    return function if inspect.isroutine(function) else getattr(type(function), "__call__", function)  # noqa: B004


def _arguments(function: Any, *, most: int, may_yield: bool) -> int:
    """Return how many arguments a handler takes: 1 or 2."""
    form = "one argument, the batch" if most == 1 else "one or two arguments, the value and the record"
    if not callable(function) or isinstance(function, type):
        raise ConfigurationError(f"handler {function!r} is not a function: decorate a function of {form}")
    # Calling a generator function only makes a generator. Without an output, nobody would run it, and its records would
    # be accepted although nothing was done.
    code = inspect.unwrap(function)
    if not may_yield and (inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code)):
        writes = "To write what it yields, declare output=" if most > 1 else "Write with batch.output(index, ...)"
        raise ConfigurationError(
            f"handler {name_of(function)} contains yield: calling it does nothing. Write a function that has done its"
            f" work when it returns. {writes}"
        )
    signature = _signature(function)
    if is_of_a_class(signature):
        raise ConfigurationError(
            f"handler {name_of(function)}{signature} is a method of a class, which would get the value as self. Declare"
            " the method of an object, as in worker.handler(topic)(shop.sell)"
        )
    plain = without_injected(signature)
    fits = [count for count in range(1, most + 1) if _takes(plain, count)]
    if not fits:
        raise ConfigurationError(f"handler {name_of(function)}{signature}: write a function of {form}")
    count = _declared(plain, fits)
    # What is injected is passed by name, so the worker's own arguments must not take its place.
    if list(signature.parameters)[:count] != list(plain.parameters)[:count]:
        raise ConfigurationError(
            f"handler {name_of(function)}{signature}: write what is injected behind {form}, best after a *"
        )
    return count


def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # functions written in C need not tell
        raise ConfigurationError(
            f"handler {name_of(function)} is written in C and doesn't say which arguments it takes: call it in a def"
        ) from None


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _declared(signature: inspect.Signature, fits: Sequence[int]) -> int:
    """Return how many arguments to pass: an optional second one of another meaning gets its default."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in signature.parameters.values() if p.kind in positional and p.default is p.empty]
    return max(fits[0], min(len(needed), fits[-1]))


def is_of_a_class(signature: inspect.Signature) -> bool:
    """Return whether this is the signature of a method that belongs to no object."""
    return next(iter(signature.parameters), None) in {"self", "cls"}


# -------------------------------------------------------------------------------------------- the options


def checked_topics(topics: object) -> tuple[str, ...]:
    """Return the topics of a handler.

    Raises:
        ConfigurationError: They are not one name, or several.
    """
    listed = [topics] if isinstance(topics, str) else topics
    if not isinstance(listed, Sequence) or isinstance(listed, bytes) or not listed:
        raise ConfigurationError(f"topics={topics!r}: give the name of a topic, or a list of names")
    return tuple(dict.fromkeys(checked_topic(topic, "topics") for topic in listed))


def _checked_name(name: object, function: Callable[..., object]) -> str:
    if name is None:
        return str(getattr(function, "__name__", type(function).__name__))
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"name={name!r}: give the handler's name in logs and metrics")
    return name


def _checked_value(value: object) -> Serde[Any] | None:
    if value is None or isinstance(value, Serde):
        return value
    raise ConfigurationError(f"value={value!r} is not a serde: give one, such as serdes.json(Order) or serdes.string")


def _checked_dead_letters(topic: str | None, topics: str | Sequence[str]) -> str | None:
    if topic is None:
        return None
    # The handler would copy its own dead letters without end.
    if topic in ([topics] if isinstance(topics, str) else topics):
        raise ConfigurationError(f"dead_letters={topic!r} is a topic of the handler, which would get its dead letters")
    return checked_topic(topic, "dead_letters")


def _checked_count(name: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigurationError(f"{name}={value!r}: give a whole number from 1 to {most}")
    return value


def _checked_timeout(timeout: float | None) -> int | None:
    if timeout is None:
        return None
    seconds = checked_seconds(timeout, "timeout")
    if seconds <= 0:
        raise ConfigurationError(f"timeout={timeout!r}: give seconds, more than 0, or None for no limit")
    return round(seconds * 1000)


def _checked_order(order_by: object) -> OrderBy | None:
    if order_by is None or order_by == "key":
        return order_by
    if callable(order_by) and not isinstance(order_by, type):
        return order_by
    raise ConfigurationError(f"order_by={order_by!r}: give 'key', or a function of the record that returns a key")


def record_key(record: AnyRecord) -> Hashable:
    """Return the key of a record for `order_by="key"`. Records without a key keep no order."""
    # The same key in another topic is about something else, so it does not wait.
    return None if record.raw_key is None else (record.topic, record.raw_key)


def _checked_retries(retries: object) -> Backoff:
    if retries is None:
        return Backoff()
    if not isinstance(retries, Backoff):
        raise ConfigurationError(f"retries={retries!r}: give a Backoff, such as Backoff(first=1, most=30, times=5)")
    return retries


def _checked_errors(errors: object) -> Mapping[type[Exception], OnError | Backoff]:
    if errors is None:
        return MappingProxyType({})
    if not isinstance(errors, Mapping):
        raise ConfigurationError(f"errors={errors!r}: give a mapping from error classes to OnError or Backoff")
    for kind, rule in errors.items():
        if not _is_error_class(kind):
            raise ConfigurationError(f"errors: {kind!r} is not a class of errors: give a subclass of Exception")
        if not isinstance(rule, OnError | Backoff):
            raise ConfigurationError(f"errors[{kind.__name__}]={rule!r}: give an OnError or a Backoff")
        _check_may_have_rule("errors", kind)
    return MappingProxyType(dict(errors))


def _is_error_class(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def _checked_outages(outages: object) -> tuple[type[Exception], ...]:
    if isinstance(outages, type) or not isinstance(outages, Sequence) or not all(map(_is_error_class, outages)):
        raise ConfigurationError(f"outages={outages!r}: give a sequence of error classes, or () for none")
    for kind in outages:
        _check_may_have_rule("outages", kind)
    return tuple(outages)


_DECIDED: Mapping[type[Exception], str] = MappingProxyType({
    Reject: "it rejects its record, whatever the handler's rules are",
    Retry: "it retries its record after its own `after`, or as `retries` says",
    ParseError: "the record is not retried; use exhausted= for values that cannot be parsed",
    HandlerResultError: "it stops the worker",
})  # fmt: skip


def _check_may_have_rule(option: str, kind: type[Exception]) -> None:
    """Refuse classes of errors whose meaning is fixed, so that a rule for them would never be used."""
    for decided, meaning in _DECIDED.items():
        # Only these classes and their subclasses: a rule for `Exception` is allowed, as it is for all the others.
        if issubclass(kind, decided):
            raise ConfigurationError(f"{option}: a rule for {kind.__name__} would never be used: {meaning}")


def _checked_rule(name: str, rule: object) -> OnError | None:
    if rule is not None and not isinstance(rule, OnError):
        raise ConfigurationError(f"{name}={rule!r}: give an OnError, such as OnError.DEAD_LETTER")
    if name == "on_blocked" and rule is OnError.HOLD:
        raise ConfigurationError("on_blocked=OnError.HOLD keeps the record that blocks: leave on_blocked out for that")
    return rule


def _checked_retry_topics(given: object) -> RetryTopics | None:
    if given is None or isinstance(given, RetryTopics):
        return given
    raise ConfigurationError(
        f"retry_topics={given!r}: give RetryTopics, such as RetryTopics('orders.retry', delays=(10, 60, 600, 3600))"
    )


def checked_batch(max_records: object, max_wait: float) -> BatchSizes:
    """Return the limits of a batch handler.

    Raises:
        ConfigurationError: One is invalid.
    """
    seconds = checked_seconds(max_wait, "max_wait")
    if seconds > _LONGEST_BATCH_WAIT_S:
        raise ConfigurationError(f"max_wait={max_wait!r}: give {_LONGEST_BATCH_WAIT_S:.0f} seconds at most")
    return BatchSizes(_checked_count("max_records", max_records, _LARGEST_BATCH), round(seconds * 1000))
