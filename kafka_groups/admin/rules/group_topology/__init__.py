"""The topology of a streams application, as members send it and as a leader assigns its tasks. No I/O."""
