"""Configs: those that were set while the cluster runs, and what is effective."""
