"""Time in one broker: timers, expiry, requests that wait, and turns for others during long requests."""
