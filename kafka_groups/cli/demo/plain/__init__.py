"""The demo without Spark: worker processes of the share consumer itself."""
