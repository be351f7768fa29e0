"""The rules of a streams group's member: tasks, heartbeats, commits. No I/O."""
