"""The command `kept-state`: what state on disk costs beside state in memory, and what restorations cost."""
