"""Classic groups with static members in virtual time, under seeded faults."""
