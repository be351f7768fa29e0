"""The demo of streams groups: flights per carrier, counted by tasks that move between processes."""
