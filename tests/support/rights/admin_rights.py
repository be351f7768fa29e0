"""The rights that calls of the admin client need: a table that a page shows, and what each call does with them."""

from collections.abc import Awaitable, Callable

from attrs import frozen

from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclResourceType
from kafka_groups.admin import (
    AsyncKafkaAdmin,
    ConfigResource,
    TopicToCreate,
    UserScramCredentialUpsertion,
)
from kafka_groups.types import TopicPartition
from tests.support.rights.client_rights import ClientScene, rights_with
from tests.support.rights.recorded_rights import Right

__all__ = ["ADMIN_CALLS", "AdminCall"]

TOPIC, GROUP, ID = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.TRANSACTIONAL_ID
CLUSTER = AclResourceType.CLUSTER
Op = AclOperation
_CLUSTER = "kafka-cluster"

Run = Callable[[AsyncKafkaAdmin, ClientScene], Awaitable[None]]


@frozen
class AdminCall:
    """The rights of calls that need the same.

    Attributes:
        names: The calls, as the page shows them.
        needed: They fail without one of these, or leave something out. Names are those of a scene in braces.
        run: Makes the calls, and raises their errors.
        prepare: What a super user does before.
    """

    names: str
    needed: tuple[Right, ...]
    run: Run
    prepare: Run | None = None

    def of(self, scene: ClientScene) -> list[Right]:
        """The rights with the names of a scene."""
        return rights_with(self.needed, scene)


def _place(scene: ClientScene) -> TopicPartition:
    return TopicPartition(scene.names["topic"], 0)


# ------------------------------------------------------------------------------------------------- topics


async def _see_topics(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    topic = scene.names["topic"]
    (await admin.describe_topics([topic])).checked()
    assert topic in [each.name for each in await admin.list_topics()]


async def _create(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.create_topics({scene.names["new"]: TopicToCreate(1)})).checked()


async def _grow(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.create_partitions({scene.names["topic"]: 2})).checked()


async def _delete(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.delete_records({_place(scene): "latest"})).checked()
    (await admin.delete_topics([scene.names["topic"]])).checked()


def _describing(kind: str, name: str) -> Run:
    async def run(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
        (await admin.describe_configs([_resource(kind, name, scene)])).checked()

    return run


def _altering(kind: str, name: str, key: str, value: str) -> Run:
    async def run(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
        (await admin.alter_configs({_resource(kind, name, scene): {key: value}})).checked()

    return run


async def _describe_config_of_group(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.describe_group_configs([scene.names["group"]])).checked()
    await _describing("group", "group")(admin, scene)


async def _alter_config_of_group(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    key = "share.auto.offset.reset"
    (await admin.alter_group_configs({scene.names["group"]: {key: "latest"}})).checked()
    await _altering("group", "group", key, "earliest")(admin, scene)


def _resource(kind: str, name: str, scene: ClientScene) -> ConfigResource:
    return ConfigResource(kind, scene.names.get(name, name))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- groups


async def _have_share_group(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.alter_share_group_offsets(scene.names["fresh"], {_place(scene): 1})).checked()


async def _list(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    assert scene.names["fresh"] in [each.group_id for each in (await admin.list_groups()).groups]


async def _describe_group(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    group = (await admin.describe_groups([scene.names["fresh"]]))[scene.names["fresh"]]
    assert list(group.lag) == [_place(scene)]


async def _delete_group(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.delete_groups([scene.names["fresh"]])).checked()


async def _alter_offsets(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.alter_share_group_offsets(scene.names["fresh"], {_place(scene): 1})).checked()
    await admin.reset_share_group_offsets(scene.names["fresh"], "latest", [scene.names["topic"]])


async def _delete_offsets(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.delete_share_group_offsets(scene.names["fresh"], [scene.names["topic"]])).checked()


async def _consumer_offsets(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    found = await admin.describe_consumer_group_offsets({scene.names["group"]: [_place(scene)]})
    found[scene.names["group"]].checked()


# ------------------------------------------------------------------------- transactions, ACLs and users


async def _fence(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.fence_producers([scene.names["app"]])).checked()


async def _see_transactions(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.describe_transactions([scene.names["app"]])).checked()
    assert scene.names["app"] in [each.transactional_id for each in (await admin.list_transactions()).transactions]


async def _see_producers(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    (await admin.describe_producers([_place(scene)])).checked()
    assert not (await admin.find_hanging_transactions([scene.names["topic"]])).errors


async def _see_acls_and_users(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    assert await admin.describe_acls()
    (await admin.describe_users([scene.names["app"]])).checked()


async def _change_acls_and_users(admin: AsyncKafkaAdmin, scene: ClientScene) -> None:
    binding = AclBinding("topic", scene.names["app"], "literal", "User:bob", "*", "read", "allow")
    (await admin.create_acls([binding])).checked()
    (await admin.delete_acls([AclFilter(name=scene.names["app"])])).checked()
    (await admin.alter_users([UserScramCredentialUpsertion(scene.names["app"], "SCRAM-SHA-256", "pw")])).checked()


ADMIN_CALLS: tuple[AdminCall, ...] = (
    AdminCall("`list_topics`, `describe_topics`", ((Op.DESCRIBE, TOPIC, "{topic}"),), _see_topics),
    AdminCall("`create_topics`", ((Op.CREATE, TOPIC, "{new}"),), _create),
    AdminCall("`create_partitions`", ((Op.ALTER, TOPIC, "{topic}"),), _grow),
    AdminCall("`delete_topics`, `delete_records`", ((Op.DELETE, TOPIC, "{topic}"),), _delete),
    AdminCall(
        "`describe_configs` of a topic", ((Op.DESCRIBE_CONFIGS, TOPIC, "{topic}"),), _describing("topic", "topic")
    ),
    AdminCall(
        "`alter_configs` of a topic",
        ((Op.ALTER_CONFIGS, TOPIC, "{topic}"),),
        _altering("topic", "topic", "max.message.bytes", "2000000"),
    ),
    AdminCall(
        "`describe_configs` of a broker", ((Op.DESCRIBE_CONFIGS, CLUSTER, _CLUSTER),), _describing("broker", "1")
    ),
    AdminCall(
        "`alter_configs` of a broker",
        ((Op.ALTER_CONFIGS, CLUSTER, _CLUSTER),),
        _altering("broker", "1", "message.max.bytes", "2000000"),
    ),
    AdminCall(
        "`describe_configs` and `describe_group_configs` of a group",
        ((Op.DESCRIBE_CONFIGS, GROUP, "{group}"),),
        _describe_config_of_group,
    ),
    AdminCall(
        "`alter_configs` and `alter_group_configs` of a group",
        ((Op.ALTER_CONFIGS, GROUP, "{group}"),),
        _alter_config_of_group,
    ),
    AdminCall("`list_groups`", ((Op.DESCRIBE, GROUP, "{fresh}"),), _list, _have_share_group),
    AdminCall(
        "`describe_groups`",
        ((Op.DESCRIBE, GROUP, "{fresh}"), (Op.DESCRIBE, TOPIC, "{topic}")),
        _describe_group,
        _have_share_group,
    ),
    AdminCall("`delete_groups`", ((Op.DELETE, GROUP, "{fresh}"),), _delete_group, _have_share_group),
    AdminCall(
        "`describe_consumer_group_offsets`",
        ((Op.DESCRIBE, GROUP, "{group}"), (Op.DESCRIBE, TOPIC, "{topic}")),
        _consumer_offsets,
    ),
    AdminCall(
        "`alter_share_group_offsets`, `reset_share_group_offsets`",
        ((Op.READ, GROUP, "{fresh}"), (Op.READ, TOPIC, "{topic}")),
        _alter_offsets,
    ),
    AdminCall(
        "`delete_share_group_offsets`",
        ((Op.DELETE, GROUP, "{fresh}"), (Op.READ, TOPIC, "{topic}")),
        _delete_offsets,
        _have_share_group,
    ),
    AdminCall("`list_transactions`, `describe_transactions`", ((Op.DESCRIBE, ID, "{app}"),), _see_transactions, _fence),
    AdminCall("`fence_producers`", ((Op.WRITE, ID, "{app}"),), _fence),
    AdminCall("`describe_producers`, `find_hanging_transactions`", ((Op.READ, TOPIC, "{topic}"),), _see_producers),
    AdminCall(
        "`describe_acls`, `describe_users`",
        ((Op.DESCRIBE, CLUSTER, _CLUSTER),),
        _see_acls_and_users,
        _change_acls_and_users,
    ),
    AdminCall("`create_acls`, `delete_acls`, `alter_users`", ((Op.ALTER, CLUSTER, _CLUSTER),), _change_acls_and_users),
)
"""All but `describe_cluster`, which needs nothing, and calls about streams groups, which need what their parts need."""
