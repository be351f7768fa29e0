"""The command `guard`: the headlines of docs/benchmarks.md in a short form, in this checkout and in an earlier one."""
