"""Topologies: nodes, checks, sub-topologies, internal topics, descriptions."""
