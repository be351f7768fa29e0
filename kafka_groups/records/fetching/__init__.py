"""The rules of a reader: positions, room, and what the brokers' answers mean. Nothing here waits."""
