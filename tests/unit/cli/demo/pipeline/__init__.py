"""The demo as a pipeline."""
