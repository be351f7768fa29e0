"""Schemas of messages, as the codec uses them: dataclasses like those of kio."""
