"""The embedded broker and a real Kafka in lock-step: the same requests to both, answers compared field by field."""
