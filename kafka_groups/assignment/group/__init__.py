"""Assignors that assign tasks to members, as the coordinator of a streams group uses them (KIP-1357)."""
