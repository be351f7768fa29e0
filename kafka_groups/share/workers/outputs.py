"""Results of handlers that are written to topics: the declaration of the topics, and what a handler may return."""

import enum
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final, Generic, Literal, Never, TypeAlias, overload

from attrs import field, frozen
from typing_extensions import TypeVar

from kafka_groups.config.places import checked_topic
from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes.serde import Serde
from kafka_groups.types import Header

__all__ = [
    "MOST_RESULT_BYTES",
    "MOST_RESULT_RECORDS",
    "AnyOutput",
    "AnyOutputs",
    "AnyProducerRecord",
    "HandlerResult",
    "InputKey",
    "Output",
    "OutputList",
    "ProducerRecord",
    "RoutedResult",
    "checked_outputs",
]

MOST_RESULT_RECORDS: Final = 10_000
"""The most records that a handler may return for one record."""

MOST_RESULT_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of these records: of their keys, values and headers."""

K = TypeVar("K")
V = TypeVar("V")
K_co = TypeVar("K_co", covariant=True, default=bytes)
V_co = TypeVar("V_co", covariant=True, default=bytes)


class InputKey(enum.Enum):
    """The default of `ProducerRecord.key`."""

    SAME = "the key of the input"
    """The bytes of the key of the record that the handler got."""

    def __repr__(self) -> str:
        return f"<{self.value}>"


@frozen(init=False)
class ProducerRecord(Generic[K_co, V_co]):
    """A record that a handler returns, to be written to a topic of its `output`.

    ```python
    @worker.handler("orders", value=serdes.json(Order), output=Output("invoices", value=serdes.json(Invoice)))
    def invoice(order: Order) -> ProducerRecord[bytes, Invoice]:
        return ProducerRecord(Invoice(order.total), key=order.customer.encode(), headers=[("source", b"web")])
    ```

    A handler that needs none of the options returns the value itself. Key and value are serialised when the handler has
    returned. What does not fit the output fails the record with `OutputError`.

    Args:
        value: The value, for the serde of the output, or bytes without one. None writes a null value, a tombstone.
        key: The key, for the serde of the output's keys, or bytes without one. None is a null key. By default it is the
            key of the record that the handler got, unchanged.
        headers: Names and values, in order.
        topic: The topic. Needed only if the handler has several outputs.
        timestamp: Milliseconds since the epoch; None for the time of writing.
    """

    value: V_co  # type: ignore[misc]  # covariant, although the initialiser takes it: a frozen record does not change
    key: "K_co | Literal[InputKey.SAME] | None"
    headers: Sequence[Header]
    topic: str | None
    timestamp: int | None

    # Without a key of its own, the record fits outputs with any keys.
    @overload
    def __init__(
        self: "ProducerRecord[Never, V_co]",
        value: V_co,
        *,
        key: Literal[InputKey.SAME] | None = ...,
        headers: Sequence[Header] = (),
        topic: str | None = None,
        timestamp: int | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        value: V_co,
        *,
        key: K_co,
        headers: Sequence[Header] = (),
        topic: str | None = None,
        timestamp: int | None = None,
    ) -> None: ...

    def __init__(
        self,
        value: V_co,
        *,
        key: Any = InputKey.SAME,
        headers: Sequence[Header] = (),
        topic: str | None = None,
        timestamp: int | None = None,
    ) -> None:
        self.__attrs_init__(value, key, headers, topic, timestamp)


@frozen(init=False)
class Output(Generic[K_co, V_co]):
    """A topic to which a handler's results are written.

    Args:
        topic: The topic.
        value: Serialises the values; None for values that are bytes.
        key: Serialises the keys of `ProducerRecord`; None for keys that are bytes.
        origin_headers: Whether to add the headers `__origin.topic`, `__origin.partition` and `__origin.offset`, which
            name the record that the handler got. A consumer can recognise duplicates by them.

    Raises:
        ConfigurationError: The topic has no valid name, or a serde is not one.
    """

    topic: str
    value: Serde[V_co] | None
    key: Serde[K_co] | None
    origin_headers: bool = field(kw_only=True)

    def __init__(
        self,
        topic: str,
        *,
        value: Serde[V_co] | None = None,
        key: Serde[K_co] | None = None,
        origin_headers: bool = False,
    ) -> None:
        for name, serde in (("value", value), ("key", key)):
            if serde is not None and not isinstance(serde, Serde):
                raise ConfigurationError(
                    f"Output({topic!r}, {name}={serde!r}) is not a serde: give one, such as serdes.json(Invoice) or"
                    " serdes.string"
                )
        if not isinstance(origin_headers, bool):
            raise ConfigurationError(f"Output({topic!r}, origin_headers={origin_headers!r}): give True or False")
        self.__attrs_init__(checked_topic(topic, "Output"), value, key, origin_headers=origin_headers)


AnyOutput = Output[Any, Any]
AnyProducerRecord = ProducerRecord[Any, Any]
OutputList = Sequence[str | AnyOutput]
AnyOutputs = str | AnyOutput | OutputList

HandlerResult: TypeAlias = (
    ProducerRecord[K, V | None]
    | V
    | Sequence[V | ProducerRecord[K, V | None] | None]
    | Iterator[V | ProducerRecord[K, V | None] | None]
    | AsyncIterator[V | ProducerRecord[K, V | None] | None]
    | None
)
"""The results of a handler with one output, by the types of its keys and values. None writes nothing."""

RoutedResult: TypeAlias = (
    AnyProducerRecord
    | Sequence[AnyProducerRecord | None]
    | Iterator[AnyProducerRecord | None]
    | AsyncIterator[AnyProducerRecord | None]
    | None
)
"""The results of a handler with several outputs: each record names its topic."""


def checked_outputs(output: object, topics: Sequence[str], dead_letters: str | None) -> tuple[AnyOutput, ...]:
    """Return the outputs of a handler.

    Args:
        output: The option `output`: a topic, an `Output`, a list of them, or None.
        topics: The topics that the handler reads.
        dead_letters: The handler's topic for dead letters, or None.

    Raises:
        ConfigurationError: It is something else; two outputs are the same topic; the handler reads one of them; or one
            is for dead letters, too.
    """
    if output is None:
        return ()
    listed = [output] if isinstance(output, str | Output) else output
    if not isinstance(listed, Sequence) or isinstance(listed, bytes) or not listed:
        raise ConfigurationError(
            f"output={output!r}: give a topic, an Output, such as Output('invoices', value=serdes.json(Invoice)), or a"
            " list of them"
        )
    outputs = tuple(each if isinstance(each, Output) else Output(checked_topic(each, "output")) for each in listed)
    _check_topics(outputs, topics, dead_letters)
    return outputs


def _check_topics(outputs: Sequence[AnyOutput], topics: Sequence[str], dead_letters: str | None) -> None:
    names = [output.topic for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"output: the topic {name!r} is there twice. Give each topic one Output")
        # An output that another handler reads is fine. That of the handler itself would keep it busy for ever.
        if name in topics:
            raise ConfigurationError(
                f"output={name!r} is a topic of the handler, which would get its own results without end"
            )
        if name == dead_letters:
            raise ConfigurationError(f"output={name!r} is also the topic for dead letters: use two topics")
