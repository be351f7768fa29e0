"""Handler workers in virtual time, under seeded faults."""
