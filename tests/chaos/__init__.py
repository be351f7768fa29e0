"""Processes of a streams group that are killed, stopped, paused and slowed down by the seed; their counts are exact."""
