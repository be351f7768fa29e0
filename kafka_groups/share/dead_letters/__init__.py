"""Dead-letter topics: what commands read in them, send again from them, and delete."""
