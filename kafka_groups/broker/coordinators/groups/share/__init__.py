"""One share group: its hard state, and how heartbeats, departures and topics change it (KIP-932)."""
