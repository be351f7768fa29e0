"""The user data of Kafka Streams in classic groups: subscriptions and assignments, versions 3 to 11.

Brokers pass these bytes on without reading them. All numbers are big-endian.
"""
