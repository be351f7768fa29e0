"""The meaning of dead letters, and the decisions about them. Nothing here waits."""
