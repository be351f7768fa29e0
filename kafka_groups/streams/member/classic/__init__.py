"""Members of classic groups, whose leader assigns tasks: rounds of JoinGroup and SyncGroup, heartbeats. No I/O."""
