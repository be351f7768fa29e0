"""`kafka-groups users`: users with passwords for SCRAM."""
