"""The algorithms of Kafka Streams: which process runs which task."""
