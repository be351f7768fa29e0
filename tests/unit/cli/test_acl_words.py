import click
import pytest

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclResourceType
from kafka_groups.cli.acl_words import bindings_of_text
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
        ("--topic orders --operation READ", "Give a user: --allow User:ann or --deny User:ann."),
        ("--allow User:ann --operation READ", "Give a resource: --topic, --group, --transactional-id or --cluster."),
        ("--allow User:ann --topic orders", "Give --operation, such as READ."),
        ("--allow User:ann --cluster --prefix --operation ALTER", "--prefix is for names, and the cluster has none."),
        ("--allow User:ann --topic orders --operation any", "'any' is not one of 'ALL', "),
        ("--allow User:ann --topic orders --operation READ,WRITE", "'READ,WRITE' is not one of 'ALL', "),
        ("--allow User:ann --group g --operation WRITE", "WRITE does not exist for groups: use one of ALL, "),
        ("--allow ann --topic t --operation READ", "'ann' is not a user. Write User:ann, or"),
        ("--allow User: --topic t --operation READ", "'User:' is not a user. Write User:ann, or"),
        ("--allow :bob --topic t --operation READ", "':bob' is not a user. Write User:bob, or"),
        ("--allow User:ann --topic '' --operation READ", "The name is empty."),
        ("--allow User:ann --topic t --operation READ --host localhost", "'localhost' is not an address."),
        ("--allow User:ann --topic t --operation READ --host a/8", "'a/8' is not an address."),
        ("--allow User:ann --for worker shop:worker", "No such option"),
        ("orders", "unexpected extra argument"),
        ("--allow User:ann --tpic t --operation READ", "No such option"),
        ("--allow 'User:ann", "No closing quotation"),
    ],
)
def test_mistakes_are_refused_with_what_fits(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        bindings_of_text(text)
    assert message in caught.value.format_message()


def test_before_kafka_4_4_a_host_is_no_block() -> None:
    with pytest.raises(click.UsageError, match="is a block of addresses, which this release does not read"):
        bindings_of_text("--allow User:ann --topic t --operation READ --host 10.0.0.0/8", reads_blocks=False)
