"""Share groups in PySpark: foreachBatch workers, a streaming source and a drain for batch jobs."""
