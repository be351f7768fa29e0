"""The demo without Spark: plain worker processes with a share consumer each."""
