"""Records of applications: reads, writes and asks, for code that has a member of a group."""
