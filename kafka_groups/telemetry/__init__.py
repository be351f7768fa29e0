"""Metrics for Prometheus and OpenTelemetry, and traces of handler attempts, under names from one table.

`kafka_groups.telemetry.prometheus` and `kafka_groups.telemetry.opentelemetry` export the metrics of clients, handler
workers and embedded brokers, and `kafka_groups.telemetry.tracing` records a span for each attempt of a handler. Only
they import prometheus-client and opentelemetry, which belong to the extras `prometheus` and `opentelemetry`.

This package is below all clients. Each of them has a property `telemetry` that describes its metrics.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.telemetry import opentelemetry, prometheus, tracing

__all__ = ["opentelemetry", "prometheus", "tracing"]

_MODULES = MappingProxyType({"opentelemetry": "opentelemetry:", "prometheus": "prometheus:", "tracing": "tracing:"})

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
