"""The members of a handler: one for its own topics, and one for each retry topic."""
