"""Metrics for Prometheus and OpenTelemetry, and traces of handler attempts, under names from one table.

`kafka_groups.telemetry.prometheus` and `kafka_groups.telemetry.opentelemetry` export the metrics of clients, handler
workers and embedded brokers, and `kafka_groups.telemetry.tracing` records a span for each attempt of a handler. Only
they import prometheus-client and opentelemetry, which belong to the extras `prometheus` and `opentelemetry`.

This package is below all clients. Each of them has a property `telemetry` that describes its metrics.
"""
