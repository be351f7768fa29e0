"""Handling of records that keep failing, and of outages of the sink, in workers, source and drain."""
