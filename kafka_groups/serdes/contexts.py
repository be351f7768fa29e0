"""Calls serialisers and deserialisers with their argument alone, or with a context, as confluent-kafka does."""

import inspect
from collections.abc import Sequence
from typing import Any, Literal

from attrs import frozen

from kafka_groups.types import Header

__all__ = ["DeserializationContext", "SerializationContext", "takes_context"]

_NAMES = ("ctx", "context")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@frozen
class DeserializationContext:
    """Describes where bytes come from. Deserialisers of two parameters receive it as the second.

    It has the attributes of confluent-kafka's `SerializationContext`, so that deserialisers for that client work.

    Attributes:
        topic: Name of the topic.
        field: "key" or "value".
        headers: The record's headers, in the producer's order.
    """

    topic: str
    field: Literal["key", "value"]
    headers: Sequence[Header]


@frozen
class SerializationContext:
    """Describes where bytes go. Serialisers of two parameters receive it as the second.

    It has the attributes of confluent-kafka's class of this name, so that serialisers for that client work.

    Attributes:
        topic: Name of the topic.
        field: "key" or "value".
        headers: The headers of the record that will be written. A serialiser may append to them.
    """

    topic: str
    field: Literal["key", "value"]
    headers: list[Header]


def takes_context(function: Any) -> bool:
    """Return True if a serialiser or deserialiser takes a context.

    It does if it cannot be called with one argument, or if its second parameter is called `ctx` or `context`. So a
    second parameter with a default of its own, such as the encoding of `bytes.decode`, keeps its default.
    """
    if function is None:
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a type or function written in C, which does not tell: `int`
        return False
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    if len(positional) < 2:
        return False
    second = positional[1]
    return second.default is inspect.Parameter.empty or second.name in _NAMES
