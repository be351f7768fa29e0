"""OpenTelemetry spans and metrics of handler attempts.

A span covers one attempt. It continues the trace of the program that produced the record, which the headers name
(W3C Trace Context, by OpenTelemetry's global propagator), and is current while the handler runs.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import perf_counter
from types import TracebackType

from kafka_groups.errors.texts import named, text_of, traceback_of
from kafka_groups.telemetry import conventions
from kafka_groups.telemetry.attempts import (
    TracedAttempt,
    attempt_attributes,
    place_attributes,
    span_name,
)
from kafka_groups.telemetry.extras import tell_missing
from kafka_groups.telemetry.meters import SCOPE, MessagingMeters
from kafka_groups.telemetry.operations import error_type
from kafka_groups.types import Header
from kafka_groups.version import __version__

try:
    from opentelemetry.context import Context, attach, detach
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.propagate import extract
    from opentelemetry.propagators.textmap import Getter
    from opentelemetry.trace import (
        INVALID_SPAN,
        Link,
        Span,
        SpanKind,
        Status,
        StatusCode,
        Tracer,
        TracerProvider,
        get_current_span,
        get_tracer_provider,
        set_span_in_context,
    )
except ModuleNotFoundError as error:
    tell_missing(error, "opentelemetry", "opentelemetry-api", "opentelemetry")
    raise

__all__ = ["Tracing", "tracing"]


def tracing(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    *,
    record_keys: bool = False,
) -> "Tracing":
    """Return a middleware that records a span and metrics for each attempt of a handler.

    Args:
        tracer_provider: Makes the spans; None for OpenTelemetry's global one.
        meter_provider: Makes the metrics; None for OpenTelemetry's global one.
        record_keys: Whether spans have the key of their record, which may be personal data.
    """
    tracer = (tracer_provider or get_tracer_provider()).get_tracer(SCOPE, __version__)
    return Tracing(tracer, MessagingMeters(meter_provider), record_keys=record_keys)


class Tracing:
    """Records a span and metrics around each attempt. Any thread and any task may use it.

    Args:
        tracer: Makes the spans.
        meters: The metrics.
        record_keys: Whether spans have the key of their record.
        timer: Returns seconds, for durations.

    Attributes:
        meters: The metrics. A worker also notes the operations of its clients there; use it for those of your own loop.
    """

    def __init__(
        self,
        tracer: Tracer,
        meters: MessagingMeters,
        *,
        record_keys: bool = False,
        timer: Callable[[], float] = perf_counter,
    ) -> None:
        self.meters = meters
        self._tracer = tracer
        self._record_keys = record_keys
        self._timer = timer

    def __repr__(self) -> str:
        return f"<Tracing record_keys={self._record_keys}>"

    def __call__(self, attempt: TracedAttempt) -> AbstractContextManager[None]:
        """Return a context manager for one attempt; enter and leave it in the thread or task of the handler.

        An exception passes through and is the error of the span, a cancellation too.
        """
        return _AttemptSpan(attempt, self._tracer, self.meters, self._timer, record_keys=self._record_keys)


class _AttemptSpan(AbstractContextManager[None]):
    """The span of one attempt. A class, because nested generators would cost half as much again."""

    def __init__(
        self,
        attempt: TracedAttempt,
        tracer: Tracer,
        meters: MessagingMeters,
        timer: Callable[[], float],
        *,
        record_keys: bool,
    ) -> None:
        self._attempt = attempt
        self._tracer = tracer
        self._meters = meters
        self._timer = timer
        self._record_keys = record_keys
        self._attributes = attempt_attributes(attempt)

    def __enter__(self) -> None:
        outside = set_span_in_context(INVALID_SPAN)  # the worker's own context is not the cause of the attempt
        producers = [extract(record.headers, context=outside, getter=_HEADERS) for record in self._attempt.records]
        context = outside if self._attempt.is_batch else producers[0]
        if self._attempt.number == 1:
            self._meters.consumed(len(producers), self._attributes)
        self._started_s = self._timer()
        self._span = self._started_span(context, producers)
        self._token = attach(set_span_in_context(self._span, context))

    def _started_span(self, context: Context, producers: Sequence[Context]) -> Span:
        places = place_attributes(self._attempt, with_key=self._record_keys)
        return self._tracer.start_span(
            span_name(self._attempt),
            context=context,
            kind=SpanKind.CONSUMER,
            attributes={**self._attributes, **places},
            links=_links(producers),
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        detach(self._token)
        if error is not None:
            self._note(error)
        self._span.end()
        self._meters.processed(self._timer() - self._started_s, self._attributes)

    def _note(self, error: BaseException) -> None:
        cls = self._attributes[conventions.ERROR_TYPE] = error_type(error)
        # As `record_exception` would do it, which fails if str() of the error does.
        described = {
            conventions.EXCEPTION_TYPE: cls,
            conventions.EXCEPTION_MESSAGE: text_of(error),
            conventions.EXCEPTION_STACKTRACE: traceback_of(error),
        }
        self._span.add_event("exception", described)
        self._span.set_attribute(conventions.ERROR_TYPE, cls)
        self._span.set_status(Status(StatusCode.ERROR, named(error)))


def _links(contexts: Sequence[Context]) -> list[Link]:
    """Return a link to the producer of each record; records that one span has sent share a link."""
    spans = [get_current_span(context).get_span_context() for context in contexts]
    distinct = {(span.trace_id, span.span_id): span for span in spans if span.is_valid}
    return [Link(span) for span in distinct.values()]


class _HeaderGetter(Getter[Sequence[Header]]):
    """Reads headers as text. Bytes that are not UTF-8 are not a trace context, so they are replaced."""

    def get(self, carrier: Sequence[Header], key: str) -> list[str] | None:
        """Return the values of a header, or None if there is none."""
        values = [
            value.decode(errors="replace") for name, value in carrier if name.lower() == key and value is not None
        ]
        return values or None

    def keys(self, carrier: Sequence[Header]) -> list[str]:
        """Return the names of all headers."""
        return [name for name, _ in carrier]


_HEADERS = _HeaderGetter()
