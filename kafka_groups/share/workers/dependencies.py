"""Dependencies of handlers: default values that name what makes them, and a plan for each handler, made once."""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, get_args, overload

from attrs import define, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import (
    ASYNC_GENERATOR_MANAGER,
    GENERATOR_MANAGER,
    called_by,
    name_of,
    undecorated_generator,
    without_partial,
)

if TYPE_CHECKING:
    from contextlib import _AsyncGeneratorContextManager, _GeneratorContextManager

__all__ = [
    "Dependency",
    "DependencyFactory",
    "DependencyPlan",
    "DependencyScope",
    "PlannedDependency",
    "check_factory",
    "check_injects_nothing",
    "inject",
    "planned_dependencies",
    "without_injected",
]

D = TypeVar("D")

DependencyFactory = Callable[..., Any]
"""Makes a dependency. Its own parameters are injected, or have default values."""

DependencyScope = Literal["process", "attempt"]
"""The life of a dependency: as long as the run of its process, or one attempt."""

_FORM = "give a function that makes the dependency, for example one decorated with contextmanager, without calling it"
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@frozen
class Dependency:
    """The default value of a parameter that is injected: `inject` returns it.

    Attributes:
        factory: Makes what is injected.
        scope: The time for which that lives.
    """

    factory: DependencyFactory
    scope: DependencyScope

    def __getattr__(self, name: str) -> NoReturn:
        # A function that is called without the worker gets its default values, so this is where the mistake shows.
        raise AttributeError(
            f"{name!r} of a dependency that was not injected, as only a worker injects: pass what"
            f" {name_of(self.factory)} would make when you call the function yourself"
        )


@overload
def inject(factory: "Callable[..., _GeneratorContextManager[D]]", *, scope: DependencyScope = "process") -> D: ...


@overload
def inject(factory: "Callable[..., _AsyncGeneratorContextManager[D]]", *, scope: DependencyScope = "process") -> D: ...


@overload
def inject(factory: Callable[..., Coroutine[Any, Any, D]], *, scope: DependencyScope = "process") -> D: ...


@overload
def inject(factory: Callable[..., D], *, scope: DependencyScope = "process") -> D: ...


def inject(factory: DependencyFactory, *, scope: DependencyScope = "process") -> Any:
    """Have a worker make the argument of a handler: use the result as a parameter's default value.

    ```python
    @worker.handler("orders", value=serdes.json(Order))
    def invoice(order: Order, *, db: Database = inject(open_database)) -> None: ...
    ```

    Args:
        factory: Makes the argument. It may be decorated with `contextlib.contextmanager` or `asynccontextmanager`; then
            the worker enters the context manager, injects what it yields, and leaves it at the end of the scope. What
            any other function or class returns is injected as it is. The factory's own parameters may be injected, too,
            from the same scope or a longer one. Asynchronous factories are for handlers declared with `async def`.
        scope: `"process"`: made once for each run of a process, after the worker's lifespan is entered, and shared by
            all attempts and handlers that inject the same factory with this scope. `"attempt"`: made for each attempt,
            inside the middleware; for a batch handler, once for each batch.

    Raises:
        ConfigurationError: The factory is not a function that can be called without arguments, or the scope is unknown.
            The decorator of the handler raises it if the dependencies don't fit each other or the handler.
    """
    check_factory("inject", factory)
    if scope not in get_args(DependencyScope):
        raise ConfigurationError(f"inject: scope={scope!r}: give 'process' or 'attempt'")
    return Dependency(factory, scope)


# ------------------------------------------------------------------------------------------ factories


def check_factory(label: str, factory: object) -> None:
    """Refuse what makes no dependency.

    Args:
        label: Where the factory was given, for the error.
        factory: The factory.

    Raises:
        ConfigurationError: It is not a function that can be called without arguments, or lacks a decorator.
    """
    if isinstance(factory, (GENERATOR_MANAGER, ASYNC_GENERATOR_MANAGER)):
        raise ConfigurationError(f"{label}: {factory!r} is a context manager already: {_FORM}")
    if inspect.iscoroutine(factory):
        factory.close()  # or Python would warn that it was never awaited
        raise ConfigurationError(f"{label}: {factory!r} is a coroutine already: {_FORM}")
    if not callable(factory):
        raise ConfigurationError(f"{label}: {factory!r} is not callable: {_FORM}")
    if (remedy := undecorated_generator(factory)) is not None:
        raise ConfigurationError(f"{label}: {name_of(factory)} {remedy}")
    _check_hashable(label, factory)
    _check_arguments(label, factory)


def _check_hashable(label: str, factory: DependencyFactory) -> None:
    try:
        hash(factory)
    except TypeError:
        raise ConfigurationError(
            f"{label}: {factory!r} is not hashable, and a worker looks up what a factory has made: give a function, or"
            " an object with __hash__"
        ) from None


def _check_arguments(label: str, factory: DependencyFactory) -> None:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    signature = _signature_of(factory)
    for each in signature.parameters.values():
        if each.default is each.empty and each.kind not in variable:
            raise ConfigurationError(
                f"{label}: {name_of(factory)}{signature} needs an argument for {each.name}: inject it, give it a"
                " default value, or give a functools.partial or the method of an object"
            )
    _injected(signature, f"{label}: {name_of(factory)}")


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C need not tell, and inject nothing
        return inspect.Signature()


def _is_asynchronous(factory: DependencyFactory) -> bool:
    inner, called = without_partial(factory), called_by(factory)
    codes = (called, inspect.unwrap(inner), inspect.unwrap(called))
    return any(inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code) for code in codes)


# ------------------------------------------------------------------------------------------ parameters


def _injected(signature: inspect.Signature, label: str) -> Mapping[str, Dependency]:
    """Return the dependencies of a function by the names of its parameters."""
    found = {name: each for name, each in signature.parameters.items() if isinstance(each.default, Dependency)}
    for name, each in found.items():
        if each.kind is each.POSITIONAL_ONLY:  # it is passed by its name
            raise ConfigurationError(f"{label}{signature}: {name} is injected, so write it after a *, not before a /")
    return {name: each.default for name, each in found.items()}


def without_injected(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature without the parameters that a worker injects."""
    parameters = signature.parameters.values()
    return signature.replace(parameters=[each for each in parameters if not isinstance(each.default, Dependency)])


def check_injects_nothing(label: str, function: Callable[..., Any], signature: inspect.Signature) -> None:
    """Refuse injected parameters of functions that get none.

    Raises:
        ConfigurationError: A parameter is injected.
    """
    for name in _injected(signature, label):
        raise ConfigurationError(
            f"{label}={name_of(function)}{signature} injects {name}: only handlers and factories of dependencies get"
            " dependencies. A factory with scope='attempt' is entered like middleware, and may inject others"
        )


# ------------------------------------------------------------------------------------------------ plans


@frozen(eq=False)
class PlannedDependency:
    """One dependency in the plan of a handler.

    Attributes:
        dependency: The dependency, as parameters name it.
        factory: Makes it: the dependency's own factory, or the one that a test put in its place.
        arguments: The factory's injected parameters, and what they get.
    """

    dependency: Dependency
    factory: DependencyFactory
    arguments: Mapping[str, Dependency]

    def __str__(self) -> str:
        return name_of(self.factory)


@frozen(eq=False)
class DependencyPlan:
    """The dependencies of a handler, in an order in which everything comes after what it injects itself.

    Attributes:
        arguments: The handler's injected parameters, and what they get.
        process: What is made once for each process.
        attempt: What is made for each attempt.
    """

    arguments: Mapping[str, Dependency] = _NOTHING
    process: Sequence[PlannedDependency] = ()
    attempt: Sequence[PlannedDependency] = ()

    @property
    def factories(self) -> set[DependencyFactory]:
        """The factories that parameters name."""
        return {each.dependency.factory for each in (*self.process, *self.attempt)}


def planned_dependencies(
    function: Callable[..., Any],
    *,
    is_async: bool,
    overrides: Mapping[DependencyFactory, DependencyFactory] = _NOTHING,
) -> DependencyPlan:
    """Return the plan of a handler.

    Args:
        function: The handler.
        is_async: Whether it is declared with `async def`.
        overrides: What tests put in the place of factories. An override injects what its own parameters say.

    Raises:
        ConfigurationError: Dependencies inject each other in a circle, one with the scope of a process injects one with
            the scope of an attempt, or one is asynchronous and the handler is not.
    """
    label = f"handler {name_of(function)}"
    arguments = _injected(_signature_of(function), label)
    planning = _Planning(label, is_async, overrides)
    for each in arguments.values():
        planning.add(each, ())
    planned = planning.planned.values()
    return DependencyPlan(
        arguments,
        process=tuple(each for each in planned if each.dependency.scope == "process"),
        attempt=tuple(each for each in planned if each.dependency.scope == "attempt"),
    )


@define
class _Planning:
    """Collects the dependencies of a handler, each after those that it injects.

    Attributes:
        planned: What was collected, in order.
    """

    _label: str
    _is_async: bool
    _overrides: Mapping[DependencyFactory, DependencyFactory]
    planned: dict[Dependency, PlannedDependency] = field(factory=dict, init=False)

    def add(self, dependency: Dependency, above: tuple[Dependency, ...]) -> None:
        """Add a dependency after all that it injects; `above` injects it, the handler's own first."""
        way = (*above, dependency)
        if any(each.factory == dependency.factory for each in above):
            raise ConfigurationError(
                f"{self._label}: dependencies inject each other in a circle: {self._shown(way)}. One of them must not"
                " inject the next"
            )
        self._check_scope(way)
        if dependency in self.planned:
            return
        factory = self._overrides.get(dependency.factory, dependency.factory)
        self._check_fits_handler(factory, way)
        arguments = _injected(_signature_of(factory), f"{self._label}: {name_of(factory)}")
        for each in arguments.values():
            self.add(each, way)
        self.planned[dependency] = PlannedDependency(dependency, factory, arguments)

    def _check_scope(self, way: tuple[Dependency, ...]) -> None:
        if len(way) > 1 and (way[-2].scope, way[-1].scope) == ("process", "attempt"):
            raise ConfigurationError(
                f"{self._label}: {self._name(way[-2])} is made once for the process, and injects {self._name(way[-1])},"
                " which lives for one attempt only: inject the first with scope='attempt', or the second with"
                " scope='process'"
            )

    def _check_fits_handler(self, factory: DependencyFactory, way: tuple[Dependency, ...]) -> None:
        if not self._is_async and _is_asynchronous(factory):
            raise ConfigurationError(
                f"{self._label} is a def, which runs in threads, and its dependency {self._shown(way)} is asynchronous:"
                " declare the handler with async def, or give a factory that is not"
            )

    def _shown(self, way: tuple[Dependency, ...]) -> str:
        return " → ".join(map(self._name, way))

    def _name(self, dependency: Dependency) -> str:
        factory = dependency.factory
        override = self._overrides.get(factory)
        return name_of(factory) if override is None else f"{name_of(factory)} (replaced by {name_of(override)})"
