"""Brokers, programs and verdicts for tests of handler workers."""
