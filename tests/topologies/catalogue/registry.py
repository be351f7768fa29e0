"""How a module of the catalogue names its topologies."""

from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import frozen

from kafka_groups.streams import StreamsBuilder, Topology

__all__ = ["Twin", "Twins"]

BuildGraph: TypeAlias = Callable[[StreamsBuilder], object]


@frozen
class Twin:
    """A topology in Python.

    Attributes:
        build: Builds it.
        resumes: Whether a handler resumes after exceptions of functions.
        skips_unreadable: Whether a handler skips records that cannot be read.
    """

    build: Callable[[], Topology]
    resumes: bool = False
    skips_unreadable: bool = False


class Twins(dict[str, Twin]):
    """Twins of a module, by name. Functions that build one are registered under their own name, or another."""

    def dsl(
        self, name: str, build: BuildGraph, *, resumes: bool = False, skips_unreadable: bool = False, **arguments: Any
    ) -> None:
        """Add a topology that a builder with these arguments makes."""

        def made() -> Topology:
            builder = StreamsBuilder(**arguments)
            build(builder)
            return builder.build()

        self._add(name, Twin(made, resumes, skips_unreadable))

    def by_hand(self, name: str, build: Callable[[], Topology]) -> None:
        """Add a topology that is made node by node."""
        self._add(name, Twin(build))

    def _add(self, name: str, twin: Twin) -> None:
        assert name not in self, name
        self[name] = twin
