"""Handler workers of share groups."""
