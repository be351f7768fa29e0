"""One share group: its hard state, and the rules by which heartbeats, leaves and topics change it (KIP-932)."""
