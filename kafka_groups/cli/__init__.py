"""The `kafka-groups` command."""
