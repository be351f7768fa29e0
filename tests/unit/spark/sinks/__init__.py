"""Sinks without Spark."""
