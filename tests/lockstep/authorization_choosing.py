"""Random ACLs and questions about them, with so few names, principals and hosts that many ACLs interact."""

import random
from collections.abc import Iterator

from kafka_groups.acls import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPatternType,
    AclPermission,
    AclResourceType,
)
from tests.support.kafka.kafka_authorizer import AnyResource, OneResource, Question, RightsScene

__all__ = ["scene_of"]

QUESTIONS = 40
_NAMES = ("orders", "orders2", "ord", "o", "posts", "*", "ord*", "hardcode", "hard", "kafka-cluster")
_TYPES = (AclResourceType.TOPIC,) * 4 + (
    AclResourceType.GROUP,
    AclResourceType.CLUSTER,
    AclResourceType.TRANSACTIONAL_ID,
)
_CLIENTS = ("User:ann", "User:ann", "User:bob", "Role:ann", "User:ANONYMOUS", "User:root")
_PRINCIPALS = (*_CLIENTS, "User:*", "User:*", "Role:*")
_ADDRESSES = ("10.1.2.3", "10.1.9.9", "127.0.0.1", "0:0:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:7")
_HOSTS = (*_ADDRESSES, *("*",) * 8, "localhost", "::1")
_BLOCKS = ("10.1.0.0/16", "10.1.2.9/24", "10.1.2.3/32", "0.0.0.0/0", "11.0.0.0/8", "::1/128", "2001:db8::/32", "::/0")
_NOT_BLOCKS = ("/10.1.2.3", "10.1.2.3/", "abc/8", "10.1.2.3/33")
_OPERATIONS = tuple(AclOperation)[3:]
_GRANTED = (*_OPERATIONS, *(AclOperation.ALL,) * 4, *(AclOperation.READ, AclOperation.WRITE) * 3)
_ASKED = (*_OPERATIONS, *(AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE) * 4)
_MANY, _FEW = 60, 12


def scene_of(seed: int, *, has_checked_hosts: bool = True) -> RightsScene:
    """Return the scene of a seed.

    Args:
        seed: The seed.
        has_checked_hosts: Whether hosts with a `/` are blocks of addresses, as since Kafka 4.4 refuses others.
    """
    rng = random.Random(seed)
    hosts = (*_HOSTS, *_BLOCKS, *(() if has_checked_hosts else _NOT_BLOCKS))
    size = _MANY if rng.random() < 0.1 else rng.randint(0, _FEW)
    acls = tuple(dict.fromkeys(_binding(rng, hosts) for _ in range(size)))
    super_users = ("User:root",) if rng.random() < 0.3 else ()
    return RightsScene(super_users, rng.random() < 0.3, acls, tuple(_questions(rng, acls, hosts)))


def _binding(rng: random.Random, hosts: tuple[str, ...]) -> AclBinding:
    return AclBinding(
        rng.choice(_TYPES),
        rng.choice(_NAMES),
        AclPatternType.PREFIXED if rng.random() < 0.4 else AclPatternType.LITERAL,
        rng.choice(_PRINCIPALS),
        rng.choice(hosts),
        rng.choice(_GRANTED),
        AclPermission.DENY if rng.random() < 0.3 else AclPermission.ALLOW,
    )


def _questions(rng: random.Random, acls: tuple[AclBinding, ...], hosts: tuple[str, ...]) -> Iterator[Question]:
    for number in range(QUESTIONS):
        client, address, operation = rng.choice(_CLIENTS), rng.choice(_ADDRESSES), rng.choice(_ASKED)
        resource_type = rng.choice(_TYPES)
        if number % 4 < 2:
            yield OneResource(client, address, operation, resource_type, rng.choice(_NAMES))
        elif number % 4 == 2:
            yield AnyResource(client, address, operation, resource_type)
        else:
            yield _filter(rng, acls, hosts)


def _filter(rng: random.Random, acls: tuple[AclBinding, ...], hosts: tuple[str, ...]) -> AclFilter:
    # Half of the filters begin with an ACL that is there, so that they find something.
    model = rng.choice(acls) if acls and rng.random() < 0.5 else _binding(rng, hosts)
    kinds = (None, AclPatternType.MATCH, AclPatternType.LITERAL, AclPatternType.PREFIXED, model.pattern_type)
    return AclFilter(
        model.resource_type if rng.random() < 0.7 else None,
        model.name if rng.random() < 0.7 else None,
        rng.choice(kinds),
        model.principal if rng.random() < 0.3 else None,
        model.host if rng.random() < 0.3 else None,
        model.operation if rng.random() < 0.2 else None,
        model.permission if rng.random() < 0.2 else None,
    )
