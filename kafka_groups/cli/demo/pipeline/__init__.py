"""The demo with Spark: PySpark workers enrich flights with weather data, and are killed during the run."""
