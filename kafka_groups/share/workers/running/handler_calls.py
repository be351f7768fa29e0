"""Call a handler for the records of a run: parse the value, enter the middleware, call the handler, note failures."""

import asyncio
import inspect
import reprlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import Any

from attrs import field, frozen

from kafka_groups.functions import name_of
from kafka_groups.serdes.serde import BoundDeserializer, Serde
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, copied_record, delivery_of
from kafka_groups.share.workers.batch import Batch
from kafka_groups.share.workers.handlers import HandlerSpec, is_async_generator
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError, ParseError
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.steps import FailedRecord, InvokeHandler
from kafka_groups.share.workers.running.attempts import Attempt, Middleware, entered_before, set_current
from kafka_groups.share.workers.running.never_awaited import DroppedCoroutines, module_of
from kafka_groups.share.workers.running.opened_dependencies import (
    AttemptDependencies,
    OpenedDependencies,
    bound_to_process,
)
from kafka_groups.share.workers.running.result_records import (
    IgnoredResults,
    OutputRecords,
    RunResults,
    WrittenResults,
)
from kafka_groups.share.workers.running.results import RunResult, handler_cancelled, handler_exit

__all__ = ["CallContext", "HandlerCalls", "RunCancellations"]

FailedRecords = list[FailedRecord[AnyRecord]]

_IGNORED = IgnoredResults()


@frozen
class CallContext:
    """Facts about the worker for its attempts.

    Attributes:
        group: The share group.
        client_id: The client id of the consumer.
        middleware: Around each attempt, the first outermost.
        timer: Returns seconds, for durations.
        opened: What the process has made for parameters that inject it.
    """

    group: str
    client_id: str
    middleware: Sequence[Middleware] = ()
    timer: Callable[[], float] = time.perf_counter
    opened: OpenedDependencies = field(factory=dict)


class RunCancellations:
    """The reasons for which runs of an asynchronous handler are cancelled."""

    def __init__(self) -> None:
        self._reasons: dict[InvokeHandler[AnyRecord], Exception] = {}

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def note(self, run: InvokeHandler[AnyRecord], reason: Exception) -> None:
        """Note why a run is about to be cancelled."""
        self._reasons[run] = reason

    def take(self, run: InvokeHandler[AnyRecord]) -> Exception | None:
        """Take the reason; None if the worker did not cancel the run."""
        return self._reasons.pop(run, None)


class HandlerCalls:
    """Calls one handler.

    Args:
        spec: The handler.
        context: What its attempts know about the worker.
    """

    def __init__(self, spec: HandlerSpec, context: CallContext) -> None:
        self._spec = spec
        self._context = context
        plan = spec.dependencies
        self._function = bound_to_process(_awaitable(spec.function), plan.arguments, context.opened)
        self._injected = AttemptDependencies(plan, context.opened) if plan.attempt else None
        self._value_of = _value_reader(spec.value, may_be_retried=spec.retry_topics is not None)
        self._module = module_of(spec.function)
        self._is_bare = not context.middleware and self._injected is None
        self._is_plain = self._is_bare and not spec.wants_record
        self._records = OutputRecords(spec.outputs) if spec.outputs else None
        self.cancellations = RunCancellations()

    def _results(self) -> RunResults:
        """Return what takes the results of a run."""
        return _IGNORED if self._records is None else WrittenResults(self._records)

    # ------------------------------------------------------------------------------------- in a thread

    def in_thread(self, run: InvokeHandler[AnyRecord]) -> RunResult:
        """Run records in this thread. Handlers' errors are part of the result."""
        began_s = self._context.timer()
        set_current(lambda: self._attempt_now(run))
        failed: Exception | None = None
        results = self._results()
        try:
            with DroppedCoroutines(self._module) as dropped:
                if run.is_batch:
                    failures, failed = self._batch(run, dropped, results)
                elif self._is_plain:
                    failures = self._plain(run, dropped, results)
                else:
                    failures = self._full(run, dropped, results)
        finally:
            set_current(None)
        return self._ended(run, failures, failed, results, began_s)

    def _ended(
        self,
        run: InvokeHandler[AnyRecord],
        failures: FailedRecords,
        failed: Exception | None,
        results: RunResults,
        began_s: float,
    ) -> RunResult:
        outputs = results.without(failures)
        return RunResult(run, failures, failed, busy_s=self._context.timer() - began_s, outputs=outputs)

    def _plain(self, run: InvokeHandler[AnyRecord], dropped: DroppedCoroutines, results: RunResults) -> FailedRecords:
        """Call a function of the value alone, with nothing around it. The loop makes no call but those it needs."""
        function, value_of, take, never_awaited = self._function, self._value_of, run.take, dropped.names
        failures: FailedRecords = []
        index = 0
        while True:
            try:
                record = take()
            except IndexError:
                return failures
            try:
                result = function(value_of(record))
                if result is not None:
                    results.take(index, record, result)
                if never_awaited:
                    raise dropped.error()
            except Exception as error:  # the rules decide what it means
                never_awaited.clear()
                failures.append(FailedRecord(index, error))
            except asyncio.CancelledError as error:  # threads are not cancelled, so it is the handler's own
                failures.append(FailedRecord(index, handler_cancelled(error)))
            except BaseException as error:
                # SystemExit and the like. If one ended the thread, its slot would be gone, and the record would stay
                # locked without a result. It is reported as an error that stops the worker.
                failures.append(FailedRecord(index, handler_exit(error)))
                return failures
            index += 1

    def _full(self, run: InvokeHandler[AnyRecord], dropped: DroppedCoroutines, results: RunResults) -> FailedRecords:
        failures: FailedRecords = []
        for index, record in enumerate(_taken(run)):
            try:
                self._call(run, index, record, dropped, results)
            except Exception as error:  # the rules decide what it means
                dropped.clear()
                failures.append(FailedRecord(index, error))
            except asyncio.CancelledError as error:  # threads are not cancelled, so it is the handler's own
                failures.append(FailedRecord(index, handler_cancelled(error)))
            except BaseException as error:
                # SystemExit and the like: as in `_plain`.
                failures.append(FailedRecord(index, handler_exit(error)))
                break
        return failures

    def _call(
        self,
        run: InvokeHandler[AnyRecord],
        index: int,
        record: AnyRecord,
        dropped: DroppedCoroutines,
        results: RunResults,
    ) -> None:
        value = self._value_of(record)
        arguments = (value, _parsed_record(record, value)) if self._spec.wants_record else (value,)
        with ExitStack() as stack:
            injected = self._enter(stack, self._attempt(run, index, [record]))
            result = self._function(*arguments, **injected)
            # Within the middleware: a generator has not run yet, and a result that cannot be written fails the attempt.
            if result is not None:
                results.take(index, record, result)
            if dropped.names:
                raise dropped.error()

    def _enter(self, stack: ExitStack, attempt: Attempt) -> dict[str, object]:
        """Enter the middleware, and inside of it make what is injected. Returns the handler's arguments."""
        for middleware in self._context.middleware:
            manager: Any = middleware(attempt)
            if not hasattr(manager, "__enter__"):
                raise _no_manager(middleware, manager)
            # A manager that serves once would fail with each further attempt. This is no fault of the record, so it
            # stops the worker instead of using up the retries of all records.
            if (problem := entered_before(manager)) is not None:
                raise _shared_manager(middleware, problem)
            stack.enter_context(manager)
        return {} if self._injected is None else self._injected.enter(stack)

    def _batch(
        self, run: InvokeHandler[AnyRecord], dropped: DroppedCoroutines, results: RunResults
    ) -> tuple[FailedRecords, Exception | None]:
        batch, indexes, failures = self._parsed_batch(run)
        if not indexes:
            return failures, None
        try:
            with ExitStack() as stack:
                injected = self._enter(stack, self._attempt(run, 0, batch.records))
                result = self._function(batch, **injected)
                if result is not None:
                    results.take_of_batch(result)
                if dropped.names:
                    raise dropped.error()
        except Exception as error:  # the rules decide what it means
            # The handler may have kept the batch. What it decides from now on comes too late and is refused.
            batch.end()
            return failures, error
        except asyncio.CancelledError as error:  # as for single records
            batch.end()
            return failures, handler_cancelled(error)
        except BaseException as error:
            # SystemExit and the like: as in `_plain`.
            batch.end()
            return failures, handler_exit(error)
        return [*failures, *_decided(batch, indexes), *results.take_outputs(batch, indexes)], None

    def _parsed_batch(self, run: InvokeHandler[AnyRecord]) -> tuple[Batch[Any], list[int], FailedRecords]:
        """Parse the records of a batch. Those that cannot be parsed are not part of it."""
        values: list[Any] = []
        records: list[AnyRecord] = []
        indexes: list[int] = []
        failures: FailedRecords = []
        for index, record in enumerate(_taken(run)):
            try:
                values.append(self._value_of(record))
            except ParseError as error:
                # One record whose value cannot be parsed does not fail the others: the function never sees it.
                failures.append(FailedRecord(index, error))
                continue
            records.append(record)
            indexes.append(index)
        return Batch(values, records, has_outputs=self._records is not None), indexes, failures

    # ---------------------------------------------------------------------------------------- in a task

    async def in_task(self, run: InvokeHandler[AnyRecord]) -> RunResult:
        """Run records in this task. If the worker cancels an attempt, the run continues with the next record."""
        began_s = self._context.timer()
        set_current(lambda: self._attempt_now(run))
        failed: Exception | None = None
        results = self._results()
        with DroppedCoroutines(self._module, asyncio.current_task()) as dropped:
            if run.is_batch:
                failures, failed = await self._async_batch(run, dropped, results)
            else:
                failures = await self._async_singles(run, dropped, results)
        return self._ended(run, failures, failed, results, began_s)

    async def _async_singles(
        self, run: InvokeHandler[AnyRecord], dropped: DroppedCoroutines, results: RunResults
    ) -> FailedRecords:
        failures: FailedRecords = []
        for index, record in enumerate(_taken(run)):
            try:
                await self._guarded(run, self._async_call(run, index, record, dropped, results))
            except Exception as error:  # the rules decide what it means
                dropped.clear()
                failures.append(FailedRecord(index, error))
            except BaseException as error:
                # SystemExit and the like: as in `_plain`. A cancellation by the program also arrives here and ends the
                # run.
                failures.append(FailedRecord(index, handler_exit(error)))
                break
        return failures

    async def _guarded(self, run: InvokeHandler[AnyRecord], call: Coroutine[Any, Any, None]) -> None:
        """Await a call. A cancellation by the worker raises its reason, and one of the handler's own is a failure."""
        before = _cancellations()
        try:
            await call
        except asyncio.CancelledError as error:
            # There are three cases. The worker has cancelled the attempt: its reason, such as the timeout, is the
            # attempt's error.
            if (reason := self._reason(run)) is not None:
                raise reason from None
            if _cancellations() > before:
                raise  # the program cancels the task, because its loop ends
            # Something that the handler waited for was cancelled. That is a failure like any other: without it, the
            # record would have no result.
            raise handler_cancelled(error) from error
        finally:
            if self.cancellations:  # a handler that ignores a cancellation does not pass it on to the next record
                self._reason(run)

    def _reason(self, run: InvokeHandler[AnyRecord]) -> Exception | None:
        """Return why the worker cancelled the call, and end the cancellation; None if it did not cancel it."""
        reason = self.cancellations.take(run)
        task = asyncio.current_task()
        if reason is not None and task is not None:
            task.uncancel()
        return reason

    async def _async_call(
        self,
        run: InvokeHandler[AnyRecord],
        index: int,
        record: AnyRecord,
        dropped: DroppedCoroutines,
        results: RunResults,
    ) -> None:
        value = self._value_of(record)
        arguments = (value, _parsed_record(record, value)) if self._spec.wants_record else (value,)
        if self._is_bare:
            result = await self._function(*arguments)
            if result is not None:
                await results.take_async(index, record, result)
            if dropped.names:
                raise dropped.error()
            return
        async with AsyncExitStack() as stack:
            injected = await self._async_enter(stack, self._attempt(run, index, [record]))
            result = await self._function(*arguments, **injected)
            if result is not None:  # within the middleware, as in `_call`
                await results.take_async(index, record, result)
            if dropped.names:
                raise dropped.error()

    async def _async_enter(self, stack: AsyncExitStack, attempt: Attempt) -> dict[str, object]:
        """Do what `_enter` does, in a task."""
        for middleware in self._context.middleware:
            manager: Any = middleware(attempt)
            if (problem := entered_before(manager)) is not None:
                raise _shared_manager(middleware, problem)
            if hasattr(manager, "__aenter__"):
                await stack.enter_async_context(manager)
            elif hasattr(manager, "__enter__"):
                stack.enter_context(manager)
            else:
                raise _no_manager(middleware, manager)
        return {} if self._injected is None else await self._injected.async_enter(stack)

    async def _async_batch(
        self, run: InvokeHandler[AnyRecord], dropped: DroppedCoroutines, results: RunResults
    ) -> tuple[FailedRecords, Exception | None]:
        batch, indexes, failures = self._parsed_batch(run)
        if not indexes:
            return failures, None
        try:
            await self._guarded(run, self._async_batch_call(run, batch, dropped, results))
        except Exception as error:  # the rules decide what it means
            batch.end()
            return failures, error
        except BaseException as error:
            # SystemExit and the like: as in `_plain`.
            batch.end()
            return failures, handler_exit(error)
        return [*failures, *_decided(batch, indexes), *results.take_outputs(batch, indexes)], None

    async def _async_batch_call(
        self, run: InvokeHandler[AnyRecord], batch: Batch[Any], dropped: DroppedCoroutines, results: RunResults
    ) -> None:
        async with AsyncExitStack() as stack:
            injected = await self._async_enter(stack, self._attempt(run, 0, batch.records))
            result = await self._function(batch, **injected)
            if result is not None:
                results.take_of_batch(result)
            if dropped.names:
                raise dropped.error()

    # ---------------------------------------------------------------------------------------- attempts

    def _attempt_now(self, run: InvokeHandler[AnyRecord]) -> Attempt:
        """Return the attempt under way."""
        if run.is_batch:
            return self._attempt(run, 0, run.records)
        index = max(0, len(run.records) - run.unstarted - 1)
        return self._attempt(run, index, [run.records[index]])

    def _attempt(self, run: InvokeHandler[AnyRecord], index: int, records: Sequence[AnyRecord]) -> Attempt:
        before = run.opened[index].all_attempts if run.opened is not None else 0
        context = self._context
        return Attempt(self._spec.name, context.group, context.client_id, records, before + 1, run.is_batch, run)


def _awaitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls are awaited, for an asynchronous generator function; any other one as it is."""
    if not is_async_generator(function):
        return function

    async def begun(*arguments: object, **injected: object) -> Any:
        result = function(*arguments, **injected)
        # A decorator may have made an ordinary `async def` of it, which is called in the same way.
        return await result if inspect.isawaitable(result) else result

    return begun


def _no_manager(middleware: Middleware, made: object) -> TypeError:
    if hasattr(made, "__aenter__"):
        return TypeError(f"middleware {name_of(middleware)} is asynchronous, and the handler runs in a thread")
    return TypeError(f"middleware {name_of(middleware)} returned {reprlib.repr(made)}: return a context manager")


def _shared_manager(middleware: Middleware, problem: str) -> HandlerResultError:
    """Return the error for middleware that no further attempt can use. It stops the worker: no record is at fault."""
    return HandlerResultError(f"middleware {name_of(middleware)} {problem} for each attempt")


def _cancellations() -> int:
    """Return how many cancellations of this task are under way."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _taken(run: InvokeHandler[AnyRecord]) -> Iterator[AnyRecord]:
    """Yield the records of a run as the slot takes them."""
    take = run.take
    while True:
        try:
            record = take()
        except IndexError:
            return
        yield record


def _decided(batch: Batch[Any], indexes: Sequence[int]) -> FailedRecords:
    """Return what a batch handler decided about single records."""
    return [FailedRecord(indexes[position], error) for position, error in sorted(batch.end().items())]


_ValueOf = Callable[[AnyRecord], Any]


class NullValueError(ValueError):
    """A value is null, and the handler's serde is not for null values."""

    def __init__(self) -> None:
        super().__init__("it is null: use serdes.nullable for values that may be null")


def _value_reader(serde: Serde[Any] | None, *, may_be_retried: bool) -> _ValueOf:
    """Return the function that parses the value of a record. It raises `ParseError`.

    Args:
        serde: Parses it; None for bytes.
        may_be_retried: Whether records may come from retry topics.
    """
    if serde is None:
        return _bytes_of
    bound: dict[str, BoundDeserializer[Any]] = {}

    def parsed(record: AnyRecord) -> Any:
        data = record.value
        if data is None:
            if serde.is_nullable:
                return None
            raise ParseError(NullValueError())
        # The producer wrote the value for the first topic, and its schema may be that of this topic.
        topic = origin_of(record).topic if may_be_retried else record.topic
        try:
            deserialize = bound.get(topic) or bound.setdefault(topic, serde.deserializer(topic, is_key=False))
            return deserialize(data, record.headers)
        except Exception as error:  # whatever the user's model raises: the value is not one
            raise ParseError(error) from error

    return parsed


def _bytes_of(record: AnyRecord) -> Any:
    data = record.value
    if data is None:
        raise ParseError(NullValueError())
    return data


def _parsed_record(record: AnyRecord, value: Any) -> AnyRecord:
    """Return a record with its parsed value."""
    # Without a serde, the record has its value already, and a copy would cost time for nothing.
    if value is record.value:
        return record
    raw = copied_record(record).raw
    return DeserializedRecord(raw, delivery_of(record), record.key, value, None)
