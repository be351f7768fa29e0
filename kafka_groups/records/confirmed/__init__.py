"""Writes whose confirmation somebody waits for: rooms for their owners, and a producer for each topic."""
