import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main

ADD = ("add", "--allow", "User:ann")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (*ADD, "--topic", "t", "--operation", "IDEMPOTENT_WRITE"),
            "IDEMPOTENT_WRITE does not exist for topics: use one",
        ),
        (
            (*ADD, "--group", "g", "--operation", "write"),
            "WRITE does not exist for groups: use one of ALL, ALTER_CONFIGS",
        ),
        ((*ADD, "--cluster", "--operation", "read"), "READ does not exist for the cluster: use one of ALL, ALTER"),
        ((*ADD, "--topic", "t", "--operation", "reed"), "'reed'"),
        ((*ADD, "--topic", "", "--operation", "read"), "The name is empty."),
        ((*ADD, "--topic", "t", "--operation", "read", "--host", "example.org"), "'example.org' is not an address."),
        ((*ADD, "--topic", "t", "--operation", "read", "--host", "10.0.0.0/40"), "'10.0.0.0/40' is not an address."),
        (("add", "--allow", "ann", "--topic", "t", "--operation", "read"), "'ann' is not a user. Write User:ann"),
        (("add", "--topic", "t", "--operation", "read"), "Give a user: --allow User:ann or --deny User:ann."),
        ((*ADD, "--topic", "t"), "Give --operation, or --for what a program asks for."),
        ((*ADD, "--operation", "read"), "Give a resource: --topic, --group, --transactional-id or --cluster."),
        ((*ADD, "--cluster", "--prefix", "--operation", "alter"), "--prefix is for names, and the cluster has none."),
        ((*ADD, "--prefix", "--operation", "alter"), "--prefix needs --topic, --group or --transactional-id."),
        (("remove",), "Choose the ACLs to remove, for example with --user or --topic. --all removes every ACL"),
        (("remove", "--all", "--topic", "t"), "--all removes every ACL of the cluster: give it without other options"),
        (("remove", "--topic", "t"), "This cannot be undone"),
        (("remove", "--topic", "t", "--yes", "--dry-run"), "Give either --yes or --dry-run."),
        (("list", "--matching"), "--matching needs the whole name of a resource"),
        (("list", "--json", "--quiet"), "Give either --json or --quiet."),
        (("check", "User:ann", "read"), "Give a resource"),
        (
            ("check", "User:ann", "read", "--topic", "t", "--prefix"),
            "A check is about whole names: leave out --prefix.",
        ),
        (("check", "ann", "read", "--topic", "t"), "'ann' is not a user."),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(arguments: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(main, ["acls", *arguments, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.3"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
