"""Transactional ids, their producers and their transactions (KIP-98, KIP-360, KIP-890)."""
