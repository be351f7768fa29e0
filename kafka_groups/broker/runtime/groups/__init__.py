"""The group coordinator of one broker, and what it wants of other parts of the broker."""
