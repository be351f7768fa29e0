"""Drain: one batch of a share group in the driver's process."""
