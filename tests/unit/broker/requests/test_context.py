import random
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.acls import AclBinding, AclOperation, AclResourceType
from kafka_groups.broker.authorization.authorizer import Authorizer, AuthorizerRules
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.requests.context import ConnectionInfo, RequestContext
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.protocol.codec import RequestHeader
from tests.support.broker.acls import allow
from tests.support.broker.coordinators import parts_of

READ, WRITE, ALTER = AclOperation.READ, AclOperation.WRITE, AclOperation.ALTER
TOPIC, CLUSTER = AclResourceType.TOPIC, AclResourceType.CLUSTER
ANN = ConnectionInfo(1, "/10.1.2.3", tls_principal="User:ann")
_UNUSED: Any = None  # parts of a broker that rights do not touch


def context(*acls: AclBinding, connection: ConnectionInfo = ANN, has_authorizer: bool = True) -> RequestContext:
    metadata = ClusterMetadata(random.Random(1))
    metadata.change_acls(acls)
    authorizer = Authorizer(metadata, AuthorizerRules()) if has_authorizer else None
    cluster = evolve(parts_of(metadata), authorizer=authorizer)
    broker = BrokerParts(0, cluster, lambda *_: None, lambda _: None, lambda: None)
    services = BrokerServices(broker, _UNUSED, _UNUSED, Purgatory(cluster.clock), random.Random(1))
    return RequestContext(RequestHeader(-1, 0, 1, "test-client", -1), connection, services)


def test_without_an_authorizer_everybody_may_do_everything() -> None:
    free = context(has_authorizer=False)
    free.require(ALTER, CLUSTER)
    assert free.may(READ, TOPIC, "orders")
    assert free.may_on_any(WRITE, TOPIC)
    assert free.visible(READ, TOPIC, ("orders", "posts")) == ["orders", "posts"]


def test_other_brokers_are_not_asked() -> None:
    peer = context(connection=evolve(ANN, is_peer=True))
    peer.require(ALTER, CLUSTER)
    assert peer.may_on_any(WRITE, TOPIC)
    assert peer.visible(READ, TOPIC, ("orders",)) == ["orders"]


def test_rights_belong_to_principal_and_host() -> None:
    assert context(allow(READ)).may(READ, TOPIC, "orders")
    assert context(allow(READ, host="10.1.2.3")).may(READ, TOPIC, "orders")
    assert not context(allow(READ, host="10.1.2.4")).may(READ, TOPIC, "orders")
    assert not context(allow(READ), connection=ConnectionInfo(1, "/10.1.2.3")).may(READ, TOPIC, "orders")


def test_lists_have_what_the_client_may_see() -> None:
    assert context(allow(READ, "posts")).visible(READ, TOPIC, ("orders", "posts")) == ["posts"]


def test_any_resource_of_a_type() -> None:
    assert context(allow(WRITE)).may_on_any(WRITE, TOPIC)
    assert not context(allow(READ)).may_on_any(WRITE, TOPIC)


def test_the_cluster_has_one_name() -> None:
    context(allow(ALTER, "kafka-cluster", of=CLUSTER)).require(ALTER, CLUSTER)


@pytest.mark.parametrize(
    ("resource_type", "error", "text"),
    [
        (TOPIC, TopicAuthorizationFailedError, "Topic authorization failed."),
        (AclResourceType.GROUP, GroupAuthorizationFailedError, "Group authorization failed."),
        (CLUSTER, ClusterAuthorizationFailedError, "Cluster authorization failed."),
        (
            AclResourceType.TRANSACTIONAL_ID,
            TransactionalIdAuthorizationFailedError,
            "Transactional Id authorization failed.",
        ),
    ],
)
def test_the_error_follows_the_type_of_the_resource(
    resource_type: AclResourceType, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        context(allow(READ, of=resource_type)).require(WRITE, resource_type, "orders")
    assert str(caught.value) == text
