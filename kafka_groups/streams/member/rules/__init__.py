"""The rules of a streams group's member: topology, tasks, heartbeats, commits. No I/O."""
