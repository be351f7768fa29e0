"""Streams groups (KIP-1071) with static members in virtual time, under seeded faults."""
