"""Share sessions with the leaders: what to fetch, acknowledge and renew, and what responses mean (KIP-932). No I/O."""
