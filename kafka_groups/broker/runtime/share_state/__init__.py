"""The share coordinators of a cluster, and the persister, which asks the one that is responsible (KIP-932)."""
