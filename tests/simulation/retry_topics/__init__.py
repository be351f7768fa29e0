"""Retry topics of handler workers in virtual time."""
