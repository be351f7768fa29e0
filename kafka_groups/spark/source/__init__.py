"""The streaming source `kafka-share`: acquired in Spark's source runner, shipped inside its input partitions."""
