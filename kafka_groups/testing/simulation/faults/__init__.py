"""The faults of a simulation: which occur, how often, and how they strike."""
