"""Arguments of the operators on streams: serdes of results, functions with or without the key, and their nodes."""

from collections.abc import Callable, Iterable
from typing import Any

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Missing, Slot
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator

__all__ = ["flat_map_values_with_key", "one_of", "slot_of", "writer_of"]


def slot_of(serde: Serde[Any] | None, operator: str, keyword: str) -> Slot:
    """Return the serde of a result. None: it is missing, and an operator that needs it says where to give it."""
    return Missing(operator, keyword) if serde is None else serde


def writer_of(name: str, operator: Operator) -> Callable[[NodeGraph, tuple[str, ...]], None]:
    """Return what writes the node of an operator into a topology, below its parents."""

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        # A stream that is merged with itself has one parent, and each record comes once, as in Java.
        topology.add_operator(name, operator, dict.fromkeys(parents))

    return write


def flat_map_values_with_key(function: Callable[[Any, Any], Iterable[Any]]) -> "processors.FlatMapValues":
    """Return the operator of a function of key and value that returns values."""
    return processors.FlatMapValues(function, with_key=True)


def one_of(word: str, function: Any, with_key: Any, plain: Any, keyed: Any) -> Operator:
    """Return the operator of a function of the value, or of one of key and value.

    Args:
        word: The method that was called, for errors.
        function: A function of the value, or None.
        with_key: A function of key and value, or None.
        plain: Makes the operator of the first one.
        keyed: Makes the operator of the second one.

    Raises:
        TypeError: Both are given or none, or what is given is not a function.
    """
    if (function is None) == (with_key is None):
        raise TypeError(f"{word} takes a function of the value, or `with_key=` a function of key and value. Give one.")
    check_functions(word, yields=word == "flat_map_values", function=function, with_key=with_key)
    found: Operator = plain(function) if function is not None else keyed(with_key)
    return found
