"""Access of workers, source and drain to a share group: consumers, polls, acknowledgements and queries."""
