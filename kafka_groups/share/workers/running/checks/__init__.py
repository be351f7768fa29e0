"""Checks of groups, topics and rights before a worker starts."""
