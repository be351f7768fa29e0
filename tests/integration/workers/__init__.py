"""Handler workers over TCP: an embedded broker and a real Kafka, one process and several."""
