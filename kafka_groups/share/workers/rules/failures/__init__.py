"""The rules for failures: waits, outages, verdicts about errors."""
