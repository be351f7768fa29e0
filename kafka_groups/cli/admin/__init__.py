"""The commands for administration: `kafka-groups groups`, `members`, `offsets` and `streams`."""
