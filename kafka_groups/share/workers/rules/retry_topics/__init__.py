"""The rules for retry topics: where long waits are spent, and what a record carries with it there."""
