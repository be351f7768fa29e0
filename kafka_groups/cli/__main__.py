"""`python -m kafka_groups.cli` is the `kafka-groups` command."""

from kafka_groups.cli.entry import main

main()
