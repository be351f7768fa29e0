"""The rules of a producer: ids, numbers, batches and what the brokers' answers mean. Nothing here waits."""
