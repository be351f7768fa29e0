"""Runs the `kafka-groups` command as `python -m kafka_groups.cli`."""

from kafka_groups.cli.entry import main

main()
