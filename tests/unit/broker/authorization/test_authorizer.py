import random
from unittest.mock import patch

from attrs import evolve

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.authorizer import (
    MOST_DECISIONS,
    Authorizer,
    AuthorizerRules,
    configured_authorizer,
)
from kafka_groups.broker.authorization.decisions import AclDecisions
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.config.readers import STANDARD_AUTHORIZER
from tests.support.broker.acls import allow

READ, TOPIC = AclOperation.READ, AclResourceType.TOPIC


def counted(authorizer: Authorizer, names: list[str]) -> int:
    """How many of the questions about these topics were not remembered."""
    with patch.object(AclDecisions, "is_allowed", return_value=True) as decided:
        for name in names:
            assert authorizer.is_allowed("User:ann", "10.1.2.3", READ, TOPIC, name)
    return decided.call_count


def test_a_change_counts_for_the_next_question() -> None:
    metadata = ClusterMetadata(random.Random(1))
    authorizer = Authorizer(metadata, AuthorizerRules())
    answers = []
    for created, deleted in (([], []), ([allow(READ)], []), ([], [allow(READ)])):
        metadata.change_acls(created, deleted)
        answers.append(authorizer.is_allowed("User:ann", "10.1.2.3", READ, TOPIC, "orders"))
        assert authorizer.is_allowed_on_any("User:ann", "10.1.2.3", READ, TOPIC) is answers[-1]
    assert answers == [False, True, False]


def test_decisions_are_remembered_until_the_lists_change() -> None:
    metadata = ClusterMetadata(random.Random(1))
    authorizer = Authorizer(metadata, AuthorizerRules())
    assert counted(authorizer, ["orders", "orders"]) == 1
    metadata.register_broker(BrokerEndpoint(0, "127.0.0.1", 9092))
    metadata.create_topic("posts")
    assert counted(authorizer, ["orders"]) == 0
    metadata.change_acls([allow(READ)])
    assert counted(authorizer, ["orders"]) == 1


def test_a_client_that_asks_for_many_names_does_not_make_the_memory_larger() -> None:
    authorizer = Authorizer(ClusterMetadata(random.Random(1)), AuthorizerRules())
    names = [str(number) for number in range(MOST_DECISIONS + 1)]
    assert counted(authorizer, names) == len(names)
    assert counted(authorizer, names[1:]) == 0
    assert counted(authorizer, names[:1]) == 1


def test_rules_decide() -> None:
    metadata = ClusterMetadata(random.Random(1))
    rules = AuthorizerRules(super_users=frozenset({"User:root"}), allows_without_acls=True, reads_blocks=False)
    authorizer = Authorizer(metadata, rules)
    assert authorizer.is_allowed("User:ann", "10.1.2.3", READ, TOPIC, "orders")
    metadata.change_acls([allow(READ, host="10.0.0.0/8")])
    assert not authorizer.is_allowed("User:ann", "10.1.2.3", READ, TOPIC, "orders")
    assert authorizer.is_allowed("User:root", "10.1.2.3", READ, TOPIC, "orders")
    assert repr(authorizer) == "<Authorizer with 1 super users>"


def test_settings_configure_the_authorizer() -> None:
    metadata = ClusterMetadata(random.Random(1))
    off = broker_settings({"super.users": "User:root", "allow.everyone.if.no.acl.found": "true"})
    assert configured_authorizer(metadata, off, DEFAULT_PROFILE) is None
    authorizer = configured_authorizer(
        metadata, evolve(off, authorizer_class_name=STANDARD_AUTHORIZER), PROFILES["4.3"]
    )
    assert authorizer is not None
    assert authorizer.rules == AuthorizerRules(
        super_users=frozenset({"User:root"}), allows_without_acls=True, reads_blocks=False
    )
