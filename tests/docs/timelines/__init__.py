"""Pictures of time in the documentation: records and windows at their times, and what came out of a topology.

A page has a line `<!-- timeline: NAME -->` before a picture. `python -m tests.docs.timelines` draws all of them again.
"""
