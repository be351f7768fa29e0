"""The timeouts of members in the simulations of groups."""

__all__ = ["REBALANCE_S", "SESSION_S"]

SESSION_S, REBALANCE_S = 15, 15
