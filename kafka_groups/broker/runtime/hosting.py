"""Hosting of a broker's coordinators, independent of what they coordinate and how many there are."""

from collections.abc import Mapping
from typing import Any, Protocol

from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.protocol.apis import ApiKey

__all__ = ["HostedCoordinator", "HostedCoordinators"]


class HostedCoordinator(Protocol):
    """A coordinator as its broker sees it. What it coordinates is between it and the handlers of its APIs."""

    @property
    def topic(self) -> InternalTopic:
        """The internal topic that keeps its records. The first client that looks for the coordinator creates it."""
        ...

    @property
    def runtime(self) -> CoordinatorRuntime[Any]:
        """The coordinator's shards on this broker, with their deadlines and counters."""
        ...

    @property
    def peer_apis(self) -> tuple[ApiKey, ...]:
        """The APIs that the broker serves to other brokers because of this coordinator."""
        ...


class HostedCoordinators:
    """The coordinators of one broker, in the order in which they follow a change of the metadata.

    Args:
        coordinators: The coordinators.

    Attributes:
        topics: Their internal topics by name.
        runtimes: Their shards, by the name of the internal topic.
        peer_apis: The APIs that the broker serves to other brokers because of them.
    """

    def __init__(self, coordinators: tuple[HostedCoordinator, ...]) -> None:
        self._coordinators = coordinators
        self.topics: Mapping[str, InternalTopic] = {each.topic.name: each.topic for each in coordinators}
        self.runtimes: Mapping[str, CoordinatorRuntime[Any]] = {each.topic.name: each.runtime for each in coordinators}
        self.peer_apis = tuple(key for each in coordinators for key in each.peer_apis)

    def __repr__(self) -> str:
        return f"<HostedCoordinators: {', '.join(map(repr, self._coordinators))}>"

    def follow(self, image: MetadataImage) -> None:
        """Lead the partitions that the broker leads by this image, and no others."""
        for runtime in self.runtimes.values():
            runtime.follow(image)

    def metadata_changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Follow a change of leaders and topics."""
        self.follow(image)
        if delta.deleted:
            for runtime in self.runtimes.values():
                runtime.topics_deleted()

    def stop(self, *, answers: bool = True) -> None:
        """Lead nothing any more. Requests that wait are answered with NOT_COORDINATOR, unless the broker is dead."""
        for runtime in reversed(tuple(self.runtimes.values())):
            runtime.stop(answers=answers)
