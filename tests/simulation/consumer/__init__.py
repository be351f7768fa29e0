"""Consumer groups (KIP-848) with static members in virtual time, under seeded faults."""
