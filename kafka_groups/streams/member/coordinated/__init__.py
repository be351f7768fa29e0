"""Members of streams groups, whose coordinator assigns tasks (KIP-1071). No I/O."""
