"""An independent reading of the wire: keeps the ledger of each share group, by the frames that were sent."""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, TRANSACTION_TOPIC
from kafka_groups.config.cluster.share_group import ShareGroupConfig
from kafka_groups.net.memory import FaultPlan, Link, Passage
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import (
    RequestHeader,
    correlation_id_of,
    decode_request,
    decode_request_header,
    decode_response,
)
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.checks.ledger import GroupLedger, SentRequest

__all__ = ["WireTap", "WireWatcher"]

_OF_SHARES = frozenset({ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_GROUP_HEARTBEAT})
_JOINS = frozenset({ApiKey.JOIN_GROUP, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT})
"""The requests with which members of groups other than share groups join."""
_FOLLOWED = _OF_SHARES | _JOINS | {ApiKey.INIT_PRODUCER_ID}


class WireWatcher(Protocol):
    """Follows requests and responses of some APIs, in the order in which they are sent."""

    def asked(self, sent: SentRequest) -> None:
        """Look at a request."""
        ...

    def answered(self, sent: SentRequest, response: Any) -> None:
        """Look at a response, whether or not it arrives."""
        ...


class WireTap:
    """A fault plan that watches every share request and response and lets another plan decide.

    Args:
        plan: Decides what happens to the frames.
        clock: Virtual time.
        is_open: Whether a connection is still up.
        config_of: Returns the configuration of a group.

    Attributes:
        ledgers: The ledgers of the share groups.
        coordinated: The keys whose coordinators are asked, in order, each after the internal topic in which it chooses
            a partition: classic, consumer and streams groups that members have joined, and transactional ids.
        half_dead: The connections on which frames vanish, in order.
        frames: The number of frames sent.
    """

    def __init__(
        self,
        plan: FaultPlan,
        clock: VirtualClock,
        is_open: Callable[[int], bool],
        config_of: Callable[[str], ShareGroupConfig],
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._is_open = is_open
        self._config_of = config_of
        self._waiting: dict[tuple[int, int], tuple[RequestHeader, SentRequest]] = {}
        self._watchers: dict[int, WireWatcher] = {}
        self.ledgers: dict[str, GroupLedger] = {}
        self.coordinated: dict[tuple[str, str], None] = {}
        self.half_dead: dict[int, None] = {}
        self.frames = 0

    def watch(self, apis: Collection[ApiKey], watcher: WireWatcher) -> None:
        """Let a watcher follow APIs that are not those of share consumers."""
        self._watchers |= dict.fromkeys(apis, watcher)

    def is_open(self, link: Link) -> bool:
        """Return whether a connection is up, and carries frames in both directions."""
        return self._is_open(link.connection) and link.connection not in self.half_dead

    def ledger(self, group_id: str) -> GroupLedger:
        """Return the ledger of a group."""
        if group_id not in self.ledgers:
            self.ledgers[group_id] = GroupLedger(self._clock, self._is_open, lambda: self._config_of(group_id))
        return self.ledgers[group_id]

    def on_connect(self, address: str) -> Passage:
        """Note a new connection."""
        return self._plan.on_connect(address)

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """Note a frame that is being sent. A response counts when the broker sends it, whether or not it arrives."""
        self.frames += 1
        if link.to_server:
            self._request(link, payload)
        else:
            self._response(link, payload)
        passage = self._plan.on_frame(link, payload)
        if passage.vanishes:
            self.half_dead[link.connection] = None
        return passage

    def metadata_changed(self, _image: MetadataImage, delta: MetadataDelta) -> None:
        """Leaders have moved."""
        for moved in delta.leaders:
            for ledger in self.ledgers.values():
                ledger.leader_moved(moved.partition)

    def _request(self, link: Link, payload: bytes) -> None:
        header = decode_request_header(payload)
        key = header.api_key
        if key not in _FOLLOWED and key not in self._watchers:
            return
        sent = SentRequest(link, decode_request(payload, header), self._clock.now_ms())
        self._waiting[link.connection, header.correlation_id] = header, sent
        if key in self._watchers:
            self._watchers[key].asked(sent)
        if key in _JOINS:
            self.coordinated[GROUP_TOPIC, sent.message.group_id] = None
        elif key == ApiKey.INIT_PRODUCER_ID and sent.message.transactional_id is not None:
            self.coordinated[TRANSACTION_TOPIC, sent.message.transactional_id] = None
        elif key == ApiKey.SHARE_GROUP_HEARTBEAT:
            self.ledger(sent.message.group_id).heartbeat_asked(sent.message)
        elif key in _OF_SHARES:
            self.ledger(sent.message.group_id).asked(sent)

    def _response(self, link: Link, payload: bytes) -> None:
        waiting = self._waiting.pop((link.connection, correlation_id_of(payload)), None)
        if waiting is None:
            return
        header, sent = waiting
        response: Any = decode_response(payload, ApiKey(header.api_key), header.version)
        if header.api_key in self._watchers:
            self._watchers[header.api_key].answered(sent, response)
        elif header.api_key == ApiKey.SHARE_GROUP_HEARTBEAT:
            self.ledger(sent.message.group_id).heartbeat_answered(sent, response)
        elif header.api_key in _OF_SHARES:
            self.ledger(sent.message.group_id).answered(sent, response)
