"""Transactional producers in virtual time, under seeded faults."""
