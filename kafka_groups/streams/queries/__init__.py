"""Queries: the stores of an application's tasks, as other parts of the program read them."""
