"""The demo as a pipeline: PySpark workers that enrich flights with weather, and are killed on the way."""
