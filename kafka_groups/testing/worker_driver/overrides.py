"""Put other factories in the place of those whose results the handlers of a worker inject."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import name_of
from kafka_groups.share.workers.dependencies import DependencyPlan, check_factory, planned_dependencies
from kafka_groups.share.workers.handlers import HandlerSpec

__all__ = ["DependencyOverrides", "with_overrides"]

DependencyOverrides = Mapping[Callable[..., Any], Callable[..., Any]]
"""A factory that handlers or other factories inject, and the one that is called instead of it."""


def with_overrides(specs: Sequence[HandlerSpec], overrides: DependencyOverrides) -> Sequence[HandlerSpec]:
    """Return handlers whose dependencies are made by other factories.

    Raises:
        ConfigurationError: Nothing injects a factory, an override is not a factory, or it does not fit.
    """
    if not isinstance(overrides, Mapping):
        raise ConfigurationError(
            f"overrides={overrides!r}: give a dictionary from factories to their replacements, as in"
            " {open_database: open_fake}"
        )
    for factory, override in overrides.items():
        check_factory(f"overrides[{_shown(factory)}]", override)
    changed = [evolve(each, dependencies=_planned_again(each, overrides)) for each in specs] if overrides else specs
    _check_known(overrides, [*specs, *changed])
    return changed


def _planned_again(spec: HandlerSpec, overrides: DependencyOverrides) -> DependencyPlan:
    return planned_dependencies(spec.function, is_async=spec.is_async, overrides=overrides)


def _check_known(overrides: DependencyOverrides, specs: Sequence[HandlerSpec]) -> None:
    # What only a replaced factory injects is known as well: tests may share a dictionary of replacements.
    known = {factory for spec in specs for factory in spec.dependencies.factories}
    for factory in overrides:
        if factory not in known:
            raise ConfigurationError(
                f"overrides: no handler injects {_shown(factory)}, nor does another dependency. Injected are:"
                f" {', '.join(sorted(map(_shown, known))) or 'none'}"
            )


def _shown(factory: Any) -> str:
    return name_of(factory) if callable(factory) else repr(factory)
