"""Assignors that assign tasks to processes (KIP-924)."""
