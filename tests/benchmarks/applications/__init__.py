"""Streams applications: ours against those of Quix Streams and Faust."""
