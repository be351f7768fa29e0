"""`kafka-groups streams`: the commands that ask brokers about streams groups."""
