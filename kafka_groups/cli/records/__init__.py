"""`kafka-groups produce`, `consume` and `share-consume`: records of topics from the shell."""
