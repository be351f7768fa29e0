import pytest
from attrs import evolve

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.creations import check_creation
from kafka_groups.errors import InvalidRequestError
from tests.support.broker.acls import allow

READ, PREFIXED, CLUSTER = AclOperation.READ, AclPatternType.PREFIXED, AclResourceType.CLUSTER
NO_TYPE = (
    "Could not parse principal from `bob` "
    "(no colon is present separating the principal type from the principal name)"
)  # fmt: skip


@pytest.mark.parametrize(
    "binding",
    [
        allow(READ),
        allow(READ, "a b"),
        allow(READ, "x" * 300),
        allow(READ, "*", PREFIXED),
        allow(READ, "kafka-cluster", of=CLUSTER),
        allow(READ, "kafka-cluster", PREFIXED, of=CLUSTER),
        allow(READ, "t", of=AclResourceType.DELEGATION_TOKEN),
        allow(AclOperation.IDEMPOTENT_WRITE, of=AclResourceType.GROUP),
        allow(READ, who="Role:x"),
        allow(READ, who=":"),
        allow(READ, host="localhost"),
        allow(READ, host="10.1.2.3/8"),
    ],
    ids=str,
)
def test_accepted(binding: AclBinding) -> None:
    check_creation(binding, reads_blocks=True)


@pytest.mark.parametrize(
    ("binding", "text"),
    [
        (allow(READ, ""), "Invalid empty resource name"),
        (allow(READ, "", who="bob", host=""), "Invalid empty resource name"),
        (allow(READ, who="bob", host=""), NO_TYPE),
        (allow(READ, host=""), "Host pattern cannot be null or empty"),
        (allow(READ, host="/1.2.3.4"), "Invalid CIDR notation '/1.2.3.4': Could not parse [/1.2.3.4]"),
        (allow(READ, "x", of=CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (allow(READ, "", of=CLUSTER, who="bob"), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (allow(READ, of=AclResourceType.ANY), "Invalid resourceType ANY"),
        (allow(READ, of=AclResourceType.UNKNOWN, who="bob"), "Invalid resourceType UNKNOWN"),
        (allow(READ, kind=AclPatternType.MATCH), "Invalid patternType MATCH"),
        (allow(AclOperation.ANY), "Invalid operation ANY"),
        (evolve(allow(READ), permission=AclPermission.ANY), "Invalid permissionType ANY"),
    ],
    ids=str,
)
def test_refused(binding: AclBinding, text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_creation(binding, reads_blocks=True)
    assert str(caught.value) == text


@pytest.mark.parametrize("host", ["", "/1.2.3.4", "abc/8", "10.0.0.0/33"])
def test_before_kafka_4_4_a_host_is_any_text(host: str) -> None:
    check_creation(allow(READ, host=host), reads_blocks=False)
