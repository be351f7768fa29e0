import click
import pytest

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclResourceType
from kafka_groups.cli.acl_words import FITTING_OPERATIONS, bindings_of_text
from tests.support.broker.acls import allow, deny

READ, WRITE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.ALL


@pytest.mark.parametrize(
    ("text", "bindings"),
    [
        ("--allow User:ann --topic orders --operation READ", [allow(READ)]),
        ("--deny 'User:*' --topic orders --operation all", [deny(ALL, who="User:*")]),
        ("--allow User:ann --topic ord --prefix --operation read", [allow(READ, "ord", AclPatternType.PREFIXED)]),
        ("--allow User:ann --topic 'a b' --operation alter-configs", [allow(AclOperation.ALTER_CONFIGS, "a b")]),
        ("--allow User:ann --topic orders --operation read --host 10.0.0.0/8", [allow(READ, host="10.0.0.0/8")]),
        (
            "--allow User:ann --cluster --operation create",
            [allow(AclOperation.CREATE, "kafka-cluster", of=AclResourceType.CLUSTER)],
        ),
        (
            "--allow User:ann --transactional-id tx --operation write",
            [allow(WRITE, "tx", of=AclResourceType.TRANSACTIONAL_ID)],
        ),
        (
            "--allow User:ann --allow User:bob --topic t --group g --operation read --operation describe --host ::1",
            [
                allow(operation, name, of=kind, who=who, host="::1")
                for who in ("User:ann", "User:bob")
                for kind, name in ((AclResourceType.TOPIC, "t"), (AclResourceType.GROUP, "g"))
                for operation in (READ, AclOperation.DESCRIBE)
            ],
        ),
    ],
)
def test_each_combination_is_an_acl(text: str, bindings: list[AclBinding]) -> None:
    assert bindings_of_text(text) == bindings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--topic orders --operation READ", "Add --allow or --deny with a user, such as User:ann."),
        ("--allow User:ann --operation READ", "Add --topic, --group or --transactional-id with a name, or --cluster."),
        ("--allow User:ann --topic orders", "Add --operation, such as READ."),
        ("--allow User:ann --cluster --prefix --operation ALTER", "--prefix: the cluster has only one name."),
        ("--allow User:ann --topic orders --operation any", "Unknown operation 'any'. Use one of ALL, READ, "),
        ("--allow User:ann --topic orders --operation READ,WRITE", "Unknown operation 'READ,WRITE'. Use one of "),
        (
            "--allow User:ann --group g --operation WRITE",
            "A group has no operation WRITE. Use one of ALL, READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.",
        ),
        (
            "--allow User:ann --transactional-id x --operation READ",
            "A transactional id has no operation READ. Use one of ALL, WRITE, DESCRIBE, TWO_PHASE_COMMIT.",
        ),
        (
            "--allow ann --topic t --operation READ",
            "'ann' is not a principal. Use a type and a name, such as",
        ),
        ("--allow User: --topic t --operation READ", "'User:' is not a principal."),
        ("--allow User:ann --topic '' --operation READ", "Invalid empty resource name."),
        (
            "--allow User:ann --topic t --operation READ --host localhost",
            "'localhost' is not the address of a client. Use one such as 10.0.0.7, a block such as 10.0.0.0/8, or *",
        ),
        (
            "--allow User:ann --topic t --operation READ --host a/8",
            "Invalid CIDR notation 'a/8': Could not parse",
        ),
        ("--allow User:ann --tpic t --operation READ", "No such option"),
        ("--allow 'User:ann", "No closing quotation"),
    ],
)
def test_mistakes_are_refused_with_what_fits(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        bindings_of_text(text)
    assert message in caught.value.format_message()


def test_before_kafka_4_4_a_host_is_no_block() -> None:
    with pytest.raises(click.UsageError, match=r"Use one such as 10.0.0.7, or \* for every host"):
        bindings_of_text("--allow User:ann --topic t --operation READ --host 10.0.0.0/8", reads_blocks=False)


def test_each_type_of_a_resource_with_a_name_has_operations() -> None:
    assert all(operations[0] is ALL for operations in FITTING_OPERATIONS.values())
