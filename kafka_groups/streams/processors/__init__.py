"""Operators as functions that return closures, and the compiler that joins nodes to the program of a task."""
