"""Checks of options of handlers that exclude, need or limit each other."""
