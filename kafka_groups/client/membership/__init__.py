"""Membership of a group whose coordinator assigns (KIP-848, KIP-932): the member's side of the heartbeat."""
