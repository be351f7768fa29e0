"""Membership of a share group (KIP-932): joining, heartbeats, leaving. No I/O."""
