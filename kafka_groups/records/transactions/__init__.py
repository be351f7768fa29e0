"""The rules of a transaction: its states, its coordinator and its end. Nothing here waits."""
