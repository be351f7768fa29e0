"""The names of OpenTelemetry's semantic conventions for messaging with Kafka.

The conventions are still in development, so the names may change with any release. This is the one place that has them.
"""

__all__ = [
    "BATCH_MESSAGE_COUNT",
    "CLIENT_CONSUMED_MESSAGES",
    "CLIENT_ID",
    "CLIENT_OPERATION_DURATION",
    "CLIENT_SENT_MESSAGES",
    "CONSUMER_GROUP_NAME",
    "DESTINATION_NAME",
    "DESTINATION_PARTITION_ID",
    "ERROR_TYPE",
    "EXCEPTION_MESSAGE",
    "EXCEPTION_STACKTRACE",
    "EXCEPTION_TYPE",
    "KAFKA",
    "KAFKA_MESSAGE_KEY",
    "KAFKA_OFFSET",
    "OPERATION_NAME",
    "OPERATION_TYPE",
    "PROCESS",
    "PROCESS_DURATION",
    "RECEIVE",
    "SEND",
    "SETTLE",
    "SYSTEM",
]

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION_NAME = "messaging.destination.name"
DESTINATION_PARTITION_ID = "messaging.destination.partition.id"
CONSUMER_GROUP_NAME = "messaging.consumer.group.name"
CLIENT_ID = "messaging.client.id"
KAFKA_OFFSET = "messaging.kafka.offset"
KAFKA_MESSAGE_KEY = "messaging.kafka.message.key"
BATCH_MESSAGE_COUNT = "messaging.batch.message_count"
ERROR_TYPE = "error.type"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"

KAFKA = "kafka"
"""The value of `messaging.system`."""

PROCESS = "process"
RECEIVE = "receive"
SEND = "send"
SETTLE = "settle"
"""With those above: the values of `messaging.operation.type`."""

PROCESS_DURATION = "messaging.process.duration"
CLIENT_CONSUMED_MESSAGES = "messaging.client.consumed.messages"
CLIENT_OPERATION_DURATION = "messaging.client.operation.duration"
CLIENT_SENT_MESSAGES = "messaging.client.sent.messages"
"""With those above: the metrics."""
