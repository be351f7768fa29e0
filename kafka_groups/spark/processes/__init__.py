"""Processes that Spark starts: their interpreter, their logs, their end."""
