"""The `kafka-groups` command. Each subcommand is imported on first use."""

import click

from kafka_groups.cli.lazy_group import HELP_OPTIONS, LazyGroup

__all__ = ["main"]

_COMMANDS = {
    "acls": (
        "kafka_groups.cli.admin.acls.acls_command",
        "acls",
        "List, add, remove and check ACLs: who may do what to which resource.",
    ),
    "broker": ("kafka_groups.cli.broker", "broker", "Run an embedded Kafka cluster on loopback until Ctrl-C."),
    "brokers": (
        "kafka_groups.cli.admin.brokers.brokers_command",
        "brokers",
        "List brokers; show and change their configurations.",
    ),
    "completion": (
        "kafka_groups.cli.completion",
        "completion",
        "Print the script that completes commands and options in a shell.",
    ),
    "consume": (
        "kafka_groups.cli.records.consume_command",
        "consume",
        "Print the records of topics until Ctrl-C.",
    ),
    "dead-letters": (
        "kafka_groups.cli.dead_letters.dead_letters_command",
        "dead_letters",
        "List, show, send again and delete dead letters: those of workers, and those of the brokers' own queues.",
    ),
    "demo": (
        "kafka_groups.cli.demo.demo_command",
        "demo",
        "Send 336,776 real flights through a share group into PySpark.",
    ),
    "groups": (
        "kafka_groups.cli.admin.groups.groups_command",
        "groups",
        "List, describe and delete groups of all types; show and change their configurations.",
    ),
    "members": (
        "kafka_groups.cli.admin.members.members_command",
        "members",
        "Administer members of groups of ordinary consumers.",
    ),
    "offsets": (
        "kafka_groups.cli.admin.offsets.offsets_command",
        "offsets",
        "Show, reset and delete the offsets of share groups.",
    ),
    "produce": (
        "kafka_groups.cli.records.produce_command",
        "produce",
        "Write lines of FILE, or of standard input, to TOPIC: a record for each, whose value is the line.",
    ),
    "share-consume": (
        "kafka_groups.cli.records.share_consume_command",
        "share_consume",
        "Print records of topics as a member of the share group GROUP until Ctrl-C, and accept those that are printed.",
    ),
    "streams": (
        "kafka_groups.cli.streams_commands",
        "streams",
        "List, describe, plan, configure and delete streams groups; move offsets; run and try topologies; show stores.",
    ),
    "top": (
        "kafka_groups.cli.top.top_command",
        "top",
        "Print what groups and workers do now, again and again until Ctrl-C.",
    ),
    "topics": (
        "kafka_groups.cli.admin.topics.topics_command",
        "topics",
        "List, describe, create, grow and delete topics; show and change their configurations; delete records.",
    ),
    "transactions": (
        "kafka_groups.cli.admin.transactions.transactions_command",
        "transactions",
        "List and describe transactions and producers; find and abort hanging transactions; fence producers.",
    ),
    "users": (
        "kafka_groups.cli.admin.users.users_command",
        "users",
        "List users with passwords for SCRAM; set and remove passwords.",
    ),
    "worker": (
        "kafka_groups.cli.worker_command",
        "run_worker",
        "Run a worker until Ctrl-C or SIGTERM, which let it finish what it holds.",
    ),
}


@click.command(
    cls=LazyGroup, modules=_COMMANDS, context_settings={"show_default": True, "help_option_names": HELP_OPTIONS}
)
@click.version_option(package_name="kafka-groups")
def main() -> None:
    """Kafka share and streams groups for Python: an embedded broker, handler workers, administration, and a demo."""
