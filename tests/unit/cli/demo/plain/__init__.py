"""The demo without Spark."""
