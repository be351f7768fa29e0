"""Schemas that kio lacks."""
