"""Make what handlers inject: once for a process, before its first record is fetched, or for each attempt."""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import ASYNC_GENERATOR_MANAGER, GENERATOR_MANAGER
from kafka_groups.share.workers.dependencies import Dependency, DependencyPlan, PlannedDependency
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError
from kafka_groups.share.workers.running.attempts import entered_before

if TYPE_CHECKING:
    from kafka_groups.share.workers.running.stop_signals import StopSignals

__all__ = ["AttemptDependencies", "OpenedDependencies", "bound_to_process", "open_dependencies"]

OpenedDependencies = Mapping[Dependency, object]
"""Everything that a process has made for its handlers."""


# ---------------------------------------------------------------------------------------- for a process


async def open_dependencies(
    stack: AsyncExitStack, specs: Sequence[HandlerSpec], signals: "StopSignals | None" = None
) -> OpenedDependencies:
    """Make what handlers inject with the scope of a process.

    Factories that are not asynchronous are called on this loop, one after the other.

    Args:
        stack: Leaves the context managers, the last first.
        specs: The handlers.
        signals: The signals that may end the start; None if no signal does.

    Raises:
        Exception: A factory raised it. A note names the factory.
        ConfigurationError: A factory returned what cannot be injected.
        StartInterrupted: One of the signals has come.
    """
    for_threads = {each.dependency for spec in specs if not spec.is_async for each in spec.dependencies.process}
    opened: dict[Dependency, object] = {}
    for spec in specs:
        for each in spec.dependencies.process:
            if each.dependency not in opened:
                may_await = each.dependency not in for_threads
                with _naming(each):
                    opened[each.dependency] = await _opened(stack, each, opened, signals, may_await=may_await)
    return opened


async def _opened(
    stack: AsyncExitStack,
    planned: PlannedDependency,
    opened: OpenedDependencies,
    signals: "StopSignals | None",
    *,
    may_await: bool,
) -> object:
    arguments = {name: opened[each] for name, each in planned.arguments.items()}
    with nullcontext() if signals is None else signals.interrupting_code():
        made = planned.factory(**arguments)
        if (problem := _problem(planned, made, may_await=may_await)) is not None:
            raise ConfigurationError(problem)
        if (problem := entered_before(made)) is not None:
            raise ConfigurationError(f"the factory {planned} {problem} for each run")
        if isinstance(made, GENERATOR_MANAGER):
            return stack.enter_context(made)
    if not _is_awaited(made):
        return made
    with nullcontext() if signals is None else signals.interrupting_awaits():
        return await (made if inspect.iscoroutine(made) else stack.enter_async_context(made))


@contextmanager
def _naming(planned: PlannedDependency) -> Iterator[None]:
    """Note in an error which dependency was made: the factory need not be in the traceback of what it calls."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while the worker made the dependency {planned}, before it handled records")
        raise


def bound_to_process(
    function: Callable[..., Any], arguments: Mapping[str, Dependency], opened: OpenedDependencies
) -> Callable[..., Any]:
    """Return a function that needs none of the arguments that the process has made, so that no call looks for them."""
    known = {name: opened[each] for name, each in arguments.items() if each.scope == "process"}
    return functools.partial(function, **known) if known else function


# ---------------------------------------------------------------------------------------- for an attempt


@frozen(eq=False)
class _AttemptStep:
    """One dependency of an attempt.

    Attributes:
        planned: The dependency.
        factory: Makes it. It has what the process has made.
        arguments: Its other parameters, and which of the attempt's dependencies they get.
    """

    planned: PlannedDependency
    factory: Callable[..., Any]
    arguments: Sequence[tuple[str, int]]

    def made(self, before: Sequence[object], *, may_await: bool) -> Any:
        """Call the factory with what was made before."""
        made = self.factory(**{name: before[place] for name, place in self.arguments})
        if (problem := _problem(self.planned, made, may_await=may_await)) is not None:
            raise TypeError(problem)
        # As with middleware: this is no fault of the record, so it stops the worker instead of using up retries.
        if (problem := entered_before(made)) is not None:
            raise HandlerResultError(f"the factory {self.planned} {problem} for each attempt")
        return made


class AttemptDependencies:
    """The dependencies of a handler with the scope of an attempt.

    Args:
        plan: The plan of the handler.
        opened: What the process has made.
    """

    def __init__(self, plan: DependencyPlan, opened: OpenedDependencies) -> None:
        places = {each.dependency: place for place, each in enumerate(plan.attempt)}
        self._steps = [
            _AttemptStep(each, bound_to_process(each.factory, each.arguments, opened), _placed(each.arguments, places))
            for each in plan.attempt
        ]
        self._arguments = _placed(plan.arguments, places)

    def enter(self, stack: ExitStack) -> dict[str, object]:
        """Make everything for an attempt in a thread, to be left with the stack. Returns the handler's arguments."""
        made: list[object] = []
        for step in self._steps:
            each = step.made(made, may_await=False)
            made.append(stack.enter_context(each) if isinstance(each, GENERATOR_MANAGER) else each)
        return {name: made[place] for name, place in self._arguments}

    async def async_enter(self, stack: AsyncExitStack) -> dict[str, object]:
        """Make everything for an attempt in a task, to be left with the stack. Returns the handler's arguments."""
        made: list[object] = []
        for step in self._steps:
            each = step.made(made, may_await=True)
            if isinstance(each, GENERATOR_MANAGER):
                each = stack.enter_context(each)
            elif _is_awaited(each):
                each = await (each if inspect.iscoroutine(each) else stack.enter_async_context(each))
            made.append(each)
        return {name: made[place] for name, place in self._arguments}


def _placed(arguments: Mapping[str, Dependency], places: Mapping[Dependency, int]) -> Sequence[tuple[str, int]]:
    return [(name, places[each]) for name, each in arguments.items() if each in places]


# ---------------------------------------------------------------------------------------- what was made


def _is_awaited(made: object) -> bool:
    return isinstance(made, ASYNC_GENERATOR_MANAGER) or inspect.iscoroutine(made)


def _problem(planned: PlannedDependency, made: Any, *, may_await: bool) -> str | None:
    """Return why something cannot be injected that a factory has returned; None if it can."""
    # The declaration refuses such factories. But a lambda, or a decorator in between, hides what it calls.
    if not may_await and _is_awaited(made):
        if inspect.iscoroutine(made):
            made.close()
        return (
            f"the factory {planned} returned {reprlib.repr(made)}, which is asynchronous, and a handler that injects it"
            " runs in a thread: declare the handler with async def, or give a factory that is not asynchronous"
        )
    if inspect.isgenerator(made) or inspect.isasyncgen(made):
        return (
            f"the factory {planned} returned {reprlib.repr(made)}: decorate the function with yield as contextmanager"
        )
    return None
