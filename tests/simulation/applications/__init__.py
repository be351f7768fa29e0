"""Whole applications in virtual time: what they have committed equals a plain computation."""
