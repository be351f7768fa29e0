"""Membership in a group whose coordinator assigns partitions (KIP-848, KIP-932): the member's side of heartbeats."""
