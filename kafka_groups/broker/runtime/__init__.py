"""Waiting in a broker: deadlines that expire, and requests that wait for a condition."""
