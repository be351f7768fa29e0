"""The configuration keys of brokers, topics, groups and client metrics subscriptions."""
