"""Deliveries of a share consumer: acquired records, their acknowledgements, and requests to leaders. No I/O."""
