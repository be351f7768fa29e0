"""The commands for administration: `kafka-groups groups`, `members` and `offsets`."""
