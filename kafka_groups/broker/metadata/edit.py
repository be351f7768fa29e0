"""A change of the metadata in the making: it collects what changes, and makes the next image and the delta."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from uuid import UUID

from kafka_groups.acls import AclBinding
from kafka_groups.broker.configs.dynamic import ResourceKey
from kafka_groups.broker.metadata.delta import BrokerChanged, GrownTopic, LeaderMoved, MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topic_names import collision_key
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.persistent_map import PersistentMap

__all__ = ["MetadataEdit"]


class MetadataEdit:
    """Collects changes to an image.

    An edit decides by the image as it was before, and sets each topic, broker and resource at most once.

    Args:
        image: The image to change.

    Attributes:
        image: The image before the edit.
        placed: As in the image; an edit may count it up.
    """

    __slots__ = ("_acls", "_brokers", "_configs", "_created", "_deleted", "_features", "_replaced", "image", "placed")

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.placed = image.placed
        self._created: list[TopicMetadata] = []
        self._replaced: list[tuple[TopicMetadata, TopicMetadata]] = []
        self._deleted: list[TopicMetadata] = []
        self._brokers: list[BrokerChanged] = []
        self._configs: dict[ResourceKey, Mapping[str, str]] = {}
        self._features: dict[str, int] = {}
        self._acls = image.acls

    def create(self, topic: TopicMetadata) -> TopicMetadata:
        """Add a topic with a new id and a new name."""
        self._created.append(topic)
        return topic

    def replace(self, before: TopicMetadata, after: TopicMetadata) -> TopicMetadata:
        """Replace a topic by one with the same id and name, and with other partitions."""
        self._replaced.append((before, after))
        return after

    def delete(self, topic: TopicMetadata) -> None:
        """Remove a topic."""
        self._deleted.append(topic)

    def set_broker(self, node_id: int, endpoint: BrokerEndpoint | None) -> None:
        """Add a broker, or remove it."""
        known = self.image.brokers.get(node_id)
        if known != endpoint:
            self._brokers.append(BrokerChanged(node_id, known, endpoint))

    def set_configs(self, resource: ResourceKey, values: Mapping[str, str]) -> None:
        """Replace all values that were set on a resource."""
        if values != self.image.configs.overrides(*resource):
            self._configs[resource] = values

    def set_features(self, levels: Mapping[str, int]) -> None:
        """Set the finalised levels of features."""
        known = self.image.features
        self._features = {name: level for name, level in levels.items() if level != known.get(name, 0)}

    def change_acls(self, created: Iterable[AclBinding], deleted: Iterable[AclBinding]) -> None:
        """Add ACLs, and remove others. One that exists is not added again."""
        self._acls = self.image.acls.with_changes(created, deleted)

    def finish(self) -> tuple[MetadataImage, MetadataDelta] | None:
        """Return the next image and what is different in it, or None if nothing is."""
        changes = (self._created, self._replaced, self._deleted, self._brokers, self._configs, self._features)
        if not any(changes) and self._acls is self.image.acls:
            return None
        return self._next_image(), self._delta()

    # ----------------------------------------------------------------------------------------- insides

    def _next_image(self) -> MetadataImage:
        image = self.image
        listed = self._created or self._deleted
        return MetadataImage(
            image.cluster_id,
            MappingProxyType({**image.features, **self._features}) if self._features else image.features,
            image.version + 1,
            _after(image.brokers, self._brokers) if self._brokers else image.brokers,
            _ever(image.node_ids, self._brokers) if self._brokers else image.node_ids,
            self._topics_by_id() if listed or self._replaced else image.topics_by_id,
            self._ids_by_name() if listed else image.ids_by_name,
            self._names_by_collision_key() if listed else image.names_by_collision_key,
            image.configs.with_values(self._configs) if self._configs else image.configs,
            self._acls,
            self.placed,
        )

    def _topics_by_id(self) -> PersistentMap[UUID, TopicMetadata]:
        put = {after.topic_id: after for _, after in self._replaced}
        for topic in self._created:
            put[topic.topic_id] = topic
        return self.image.topics_by_id.with_entries(put, [topic.topic_id for topic in self._deleted])

    def _ids_by_name(self) -> PersistentMap[str, UUID]:
        put = {topic.name: topic.topic_id for topic in self._created}
        return self.image.ids_by_name.with_entries(put, [topic.name for topic in self._deleted])

    def _names_by_collision_key(self) -> PersistentMap[str, str]:
        names = self.image.names_by_collision_key
        put = {key: topic.name for topic in self._created if (key := collision_key(topic.name)) is not None}
        removed = [key for topic in self._deleted if (key := collision_key(topic.name)) is not None]
        return names.with_entries(put, removed) if put or removed else names

    def _delta(self) -> MetadataDelta:
        grown: list[GrownTopic] = []
        leaders: list[LeaderMoved] = []
        for before, after in self._replaced:
            if after.num_partitions > before.num_partitions:
                grown.append(GrownTopic(after, before.num_partitions))
            leaders += _moved_leaders(before, after)
        return MetadataDelta(
            self.image.version + 1,
            tuple(self._created),
            tuple(self._deleted),
            tuple(grown),
            tuple(leaders),
            tuple(self._brokers),
            tuple(self._configs),
            tuple(self._features),
            self._acls is not self.image.acls,
        )


def _after(brokers: Mapping[int, BrokerEndpoint], changed: list[BrokerChanged]) -> Mapping[int, BrokerEndpoint]:
    gone = {change.node_id for change in changed if change.new is None}
    running = {node_id: endpoint for node_id, endpoint in brokers.items() if node_id not in gone}
    running.update({change.node_id: change.new for change in changed if change.new is not None})
    return MappingProxyType(running)


def _ever(node_ids: tuple[int, ...], changed: list[BrokerChanged]) -> tuple[int, ...]:
    return tuple(sorted({*node_ids, *(change.node_id for change in changed)}))


def _moved_leaders(before: TopicMetadata, after: TopicMetadata) -> list[LeaderMoved]:
    return [
        LeaderMoved(after.topic_id_partition(new.partition), old.leader_id, new.leader_id, new.leader_epoch)
        for old, new in zip(before.partitions, after.partitions, strict=False)
        if old is not new and (old.leader_id, old.leader_epoch) != (new.leader_id, new.leader_epoch)
    ]
