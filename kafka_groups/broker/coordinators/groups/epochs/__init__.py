"""Rules shared by groups whose members have epochs: consumer, streams and, in parts, share groups.

These rules stand once: who may join or stay in which epoch, static members, the deadlines of members, and when a target
assignment is due. What members own, and how they get from one assignment to the next, differs by type.
"""
