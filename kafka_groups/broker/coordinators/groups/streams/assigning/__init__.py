"""The target assignment of a streams group: when it is computed, by whom, and what follows from it."""
