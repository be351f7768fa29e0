"""The admin client: ACLs, and users with SCRAM credentials."""

from typing import Final

import pytest
from attrs import evolve

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclPatternType
from kafka_groups.admin import (
    AsyncKafkaAdmin,
    UserDescription,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka_groups.errors import (
    InvalidRequestError,
    ResourceNotFoundError,
    SecurityDisabledError,
)
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import Target, everywhere, everywhere_with

SHA_256: Final = "SCRAM-SHA-256"
SHA_512: Final = "SCRAM-SHA-512"

with_an_authorizer = everywhere_with({
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
})  # fmt: skip


def allowing(name: str, operation: str, pattern: str = "literal", principal: str = "User:ann") -> AclBinding:
    """An ACL of a topic."""
    return AclBinding("topic", name, pattern, principal, "*", operation, "allow")


async def shown(admin: AsyncKafkaAdmin, wanted: AclFilter, *expected: AclBinding) -> None:
    """Wait until a filter chooses these ACLs."""
    assert await until(lambda: admin.describe_acls(wanted), lambda it: it == tuple(sorted(expected))) is not None


@with_an_authorizer
async def test_acls_are_created_found_and_deleted(target: Target) -> None:
    name = unique("acls")
    read, describe = allowing(name, "read"), allowing(name, "describe")
    prefixed = allowing(name[:-2], "write", "prefixed", "User:*")
    denied = evolve(allowing(name, "all"), permission="deny", host="10.0.0.7")
    async with target.admin() as admin:
        everything = [read, describe, prefixed, denied]
        assert (await admin.create_acls([*everything, read])).values == dict.fromkeys(everything)
        assert (await admin.create_acls([read])).values == {read: None}  # once more is no error
        await shown(admin, AclFilter(name=name), read, describe, denied)
        await shown(admin, AclFilter("topic", name, "match"), *everything)
        await shown(admin, AclFilter(name=name, operation="describe"), describe)
        await shown(admin, AclFilter(name=name, permission="deny"), denied)
        await shown(admin, AclFilter(name=name, host="10.0.0.7"), denied)
        await shown(admin, AclFilter(name=name[:-2], pattern_type="prefixed", principal="User:*"), prefixed)
        await shown(admin, AclFilter("group", name))
        assert set(everything) <= set(await admin.describe_acls())
        by_name, by_nothing = AclFilter(name=name, operation="read"), AclFilter(name=unique("nothing"))
        deleted = await admin.delete_acls([by_name, by_nothing])
        assert {key: value.values for key, value in deleted.values.items()} == {by_name: {read: None}, by_nothing: {}}
        await shown(admin, AclFilter("topic", name, "match"), describe, prefixed, denied)
        (await admin.delete_acls([AclFilter("topic", name, AclPatternType.MATCH)])).checked()
        await shown(admin, AclFilter("topic", name, AclPatternType.MATCH))


@with_an_authorizer
async def test_acls_that_brokers_refuse_have_errors_of_their_own(target: Target) -> None:
    name = unique("acls")
    right = allowing(name, "read")
    wrong = {
        evolve(right, principal="bob"): "Could not parse principal from `bob`",
        evolve(right, resource_type="cluster"): "The only valid name for the CLUSTER resource is kafka-cluster",
        evolve(right, host="/127.0.0.1"): "Invalid CIDR notation '/127.0.0.1'",
    }
    async with target.admin() as admin:
        done = await admin.create_acls([*wrong, right])
        assert done.values == {right: None}
        for binding, message in wrong.items():
            assert isinstance(done.errors[binding], InvalidRequestError)
            assert message in str(done.errors[binding])
        every = AclFilter(name=name)
        assert (await admin.delete_acls([every]))[every].values == {right: None}
        await shown(admin, AclFilter(name=name))


@with_an_authorizer
async def test_rights_of_a_super_user_are_all(target: Target) -> None:
    async with target.admin() as admin:
        cluster = await admin.describe_cluster(include_authorized_operations=True)
    assert cluster.authorized_operations is not None
    assert AclOperation.ALTER in cluster.authorized_operations


@everywhere
async def test_a_cluster_without_an_authorizer_has_no_acls(target: Target) -> None:
    binding, wanted = allowing("orders", "read"), AclFilter()
    async with target.admin() as admin:
        with pytest.raises(SecurityDisabledError, match="No Authorizer is configured"):
            await admin.describe_acls()
        assert isinstance((await admin.create_acls([binding])).errors[binding], SecurityDisabledError)
        assert isinstance((await admin.delete_acls([wanted])).errors[wanted], SecurityDisabledError)


@everywhere
async def test_passwords_are_set_described_and_removed(target: Target) -> None:
    ann, bob, absent = unique("ann"), unique("bob"), unique("absent")
    async with target.admin() as admin:
        done = await admin.alter_users([
            UserScramCredentialUpsertion(ann, SHA_256, "pass word", 4_096),
            UserScramCredentialUpsertion(ann, SHA_512, "other", 16_384),
            UserScramCredentialUpsertion(bob, SHA_256, "Tr0ub4dor&3, =ü"),
            UserScramCredentialDeletion(absent, SHA_256),
        ])  # fmt: skip
        assert done.values == {ann: None, bob: None}
        assert isinstance(done.errors[absent], ResourceNotFoundError)
        found = await until(lambda: admin.describe_users([ann, bob, absent]), lambda it: len(it.values) == 2)
        assert found.values == {
            ann: UserDescription(ann, {SHA_256: 4_096, SHA_512: 16_384}),
            bob: UserDescription(bob, {SHA_256: 4_096}),
        }
        assert isinstance(found.errors[absent], ResourceNotFoundError)
        everyone = await admin.describe_users()
        assert list(everyone.values) == sorted(everyone.values)
        assert everyone[ann] == found[ann]
        (await admin.alter_users([
            UserScramCredentialDeletion(ann, SHA_256), UserScramCredentialUpsertion(ann, SHA_512, "newer", 8_192),
            UserScramCredentialDeletion(bob, SHA_256),
        ])).checked()  # fmt: skip
        left = await until(lambda: admin.describe_users([ann, bob]), lambda it: bob in it.errors)
        assert left.values == {ann: UserDescription(ann, {SHA_512: 8_192})}


@everywhere
async def test_changes_of_a_user_end_with_the_first_that_fails(target: Target) -> None:
    ann = unique("ann")
    changes: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = [
        UserScramCredentialUpsertion(ann, SHA_256, "first"),
        UserScramCredentialDeletion(ann, SHA_512),
    ]
    async with target.admin() as admin:
        done = await admin.alter_users(changes)
        assert isinstance(done.errors[ann], ResourceNotFoundError)
        found = await until(lambda: admin.describe_users([ann]), lambda it: not it.errors)
        assert found[ann].iterations == {SHA_256: 4_096}


@everywhere
async def test_a_request_that_names_a_user_twice_is_refused(target: Target) -> None:
    """Whatever the mechanisms are, unless the first change has an error of its own."""
    user, client = unique("ann"), target.client()

    def upserted(mechanism: int, iterations: int = 4_096) -> ScramCredentialUpsertion:
        return ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
        )

    async def answers(
        *upsertions: ScramCredentialUpsertion, deletions: tuple[ScramCredentialDeletion, ...] = ()
    ) -> str:
        request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
        [result] = (await client.ask(request)).results
        return str(result.error_code.name)

    assert await answers(upserted(1), upserted(2)) == "DUPLICATE_RESOURCE"
    assert await answers(upserted(1), upserted(2, 5)) == "DUPLICATE_RESOURCE"
    assert await answers(upserted(1, 5), upserted(2)) == "UNACCEPTABLE_CREDENTIAL"
    assert await answers(upserted(1)) == "NONE"
    deletion = ScramCredentialDeletion(name=user, mechanism=1)
    assert await answers(upserted(2), deletions=(deletion,)) == "DUPLICATE_RESOURCE"
    absent = ScramCredentialDeletion(name=user, mechanism=2)
    assert await answers(upserted(2), deletions=(absent,)) == "RESOURCE_NOT_FOUND"
