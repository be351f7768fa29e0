"""Shared by the simulations of classic, consumer and streams groups."""
