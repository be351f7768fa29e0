"""Writes and reads records with librdkafka, for other packages; the only importer of confluent-kafka."""
