"""Processes that this one spawns: supervisor, slots and restarts, and the end of such a process with its parent."""
