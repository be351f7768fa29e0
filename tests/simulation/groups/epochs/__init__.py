"""Shared by the simulations of consumer and streams groups, whose members have epochs and are assigned something.

A type of group adds a holding, the rules of its ledger, a deployment, and what it changes after faults have ended.
"""
