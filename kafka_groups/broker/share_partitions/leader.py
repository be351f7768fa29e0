"""The share-partition leader of one broker: share sessions, acknowledgements and acquisition (KIP-932).

It has no waits and no sockets. A handler calls `begin_fetch`, `plan` and `led.write` for each partition with
acknowledgements, `has_enough` until it returns True or the time is up, and then `collect`. Those that look at every
partition of a session are generators, which yield after each partition. After every call that may let other fetches
continue, `led.take_changed` (or the call's own result) returns the share-partitions that waiting fetches have to check
again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.features import SHARE_FEATURE
from kafka_groups.broker.share_partitions.acknowledgement import Acknowledgement
from kafka_groups.broker.share_partitions.collecting import ShareCollector, Work, kept
from kafka_groups.broker.share_partitions.fetching import Batches, FetchedPartition, FetchRequested, ShareFetching
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions, ShareConfigLookup
from kafka_groups.broker.share_partitions.logs import Logs
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.sessions import (
    ShareSession,
    ShareSessionKey,
    ShareSessions,
)
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.broker.share_partitions.writing import StateChange
from kafka_groups.errors import (
    BrokerError,
    InvalidRequestError,
    InvalidShareSessionEpochError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import FINAL_EPOCH, INITIAL_EPOCH
from kafka_groups.types import TopicIdPartition

__all__ = ["SharePartitionLeader"]


class SharePartitionLeader:
    """Leads the share-partitions of one broker.

    Args:
        node_id: Node id of this broker.
        metadata: The metadata of the cluster, for the leaders of partitions.
        logs: The partitions' logs (`LogStore`).
        writers: Keep the state of share-partitions and write dead letters.
        group_config: Returns the effective configuration of a group. Must be cheap, because every operation calls it.
        max_sessions: Maximum number of share sessions (`group.share.max.share.sessions`).

    Attributes:
        led: The share-partitions that are loaded here.
        sessions: The share sessions of this broker.
        acknowledgements: For how many offsets each type of acknowledgement has come so far.
    """

    def __init__(
        self,
        node_id: int,
        metadata: ClusterMetadata,
        logs: Logs,
        writers: ShareWriters,
        *,
        group_config: ShareConfigLookup,
        max_sessions: int,
    ) -> None:
        self.node_id = node_id
        self._metadata = metadata
        self.group_config = group_config
        self.sessions = ShareSessions(max_sessions)
        self.acknowledgements: Counter[int] = Counter()
        self.led = LedSharePartitions(node_id, metadata, logs, writers, group_config)
        self._collector = ShareCollector(self.led, self.sessions, group_config)

    def __repr__(self) -> str:
        return f"<SharePartitionLeader {self.node_id}: {len(self.led)} share-partitions, {len(self.sessions)} sessions>"

    # ------------------------------------------------------------------------------------------- fetch

    def begin_fetch(
        self, key: ShareSessionKey, requested: FetchRequested, connection_id: int, wall_ms: int
    ) -> Work[ShareFetching]:
        """Open, continue or close the session of a share fetch. Call `plan` next for what it acknowledges.

        Args:
            key: The group and member.
            requested: The content of the request.
            connection_id: The connection. A session that this call opens ends with the connection.
            wall_ms: Time since the epoch.

        Raises:
            InvalidRequestError: It renews locks and asks for records, or opens a session with acknowledgements.
            ShareSessionNotFoundError: The session does not exist.
            InvalidShareSessionEpochError: The epoch is not the expected one.
            ShareSessionLimitReachedError: It opens a session, but the broker has reached its limit.
        """
        # The order of checks of SharePartitionManager.newContext: acknowledgements in an opening request, then a
        # missing session, then a wrong epoch.
        if requested.epoch == INITIAL_EPOCH and requested.acknowledgements:
            raise InvalidRequestError("A request that opens a share session cannot contain acknowledgements.")
        if requested.epoch == FINAL_EPOCH:
            # The closing request reads nothing. Its acknowledgements are processed first, and `close_session` releases
            # the rest (KIP-932, "Share sessions"). Kafka does not compare the epoch -1 with the session's.
            self.sessions.known(key)
            return ShareFetching(key, requested, None, (), wall_ms)
        session = yield from self._session_of(key, requested, connection_id)
        order: Iterable[TopicIdPartition] = ()
        # KIP-1222: a fetch that renews fetches nothing. Nor does one whose limits allow no record.
        if not requested.is_renew_ack and not requested.limits.asks_for_nothing:
            order = session.reading_order(requested.epoch)
        return ShareFetching(key, requested, session, tuple(order), wall_ms)

    def has_enough(self, fetching: ShareFetching, now_ms: int) -> Work[bool]:
        """Return whether a fetch can stop waiting.

        It can if MinBytes can be read, if a partition has moved to another leader, or if there is nothing to wait for.
        A fetch does wait for a partition whose state is not initialised yet.
        """
        return self._collector.has_enough(fetching, now_ms)

    def collect(self, fetching: ShareFetching, now_ms: int) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        """Acquire the records that are available now and return the result of each partition.

        MaxBytes is divided evenly between the partitions below their in-flight limit. MaxRecords applies to all of them
        together.
        """
        return self._collector.collect(fetching, now_ms)

    def confirm(
        self, fetching: ShareFetching, fetched: Mapping[TopicIdPartition, FetchedPartition]
    ) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        """Return what `collect` returned some time ago, without the records that others may have by now.

        A response may wait until its acknowledgements are written. By then, the partition may have moved, or the locks
        of the new records may have expired. Kafka still sends such records.
        """
        return self._collector.confirm(fetching, fetched)

    # ------------------------------------------------------------------------------------- acknowledge

    def begin_acknowledge(self, key: ShareSessionKey, epoch: int) -> None:
        """Continue the session of a share acknowledgement. If the epoch is -1, call `close_session` afterwards.

        Raises:
            ShareSessionNotFoundError: The session does not exist.
            InvalidShareSessionEpochError: The epoch is not the expected one, or it would open a session.
        """
        if epoch == INITIAL_EPOCH:
            # KIP-932, "Share sessions": only a ShareFetch opens a session. The final epoch is not compared with the
            # session's (SharePartitionManager.acknowledgeSessionUpdate).
            raise InvalidShareSessionEpochError("An acknowledgement cannot open a share session.")
        if epoch == FINAL_EPOCH:
            self.sessions.known(key)
        else:
            self.sessions.advance(key, epoch)

    def plan(
        self, key: ShareSessionKey, partition: TopicIdPartition, batches: Batches, *, is_renew_ack: bool, now_ms: int
    ) -> StateChange | BrokerError:
        """Validate a member's acknowledgements of one partition, all of them or none, and renew locks.

        Returns:
            The change that they make, or why they are refused. The records stay acquired until `led.write`.
        """
        share_key = SharePartitionKey(key.group_id, partition)
        acknowledgement = Acknowledgement(key.member_id, batches, is_renew_ack)
        try:
            share_partition = self.led.find(share_key, now_ms)
            # This broker has not loaded the share-partition since it leads it, so it has acquired nothing for anybody
            # (SharePartitionManager.acknowledge in Kafka).
            if share_partition is None:
                raise UnknownTopicOrPartitionError(f"Nothing of {share_key} was fetched from this leader.")
            changes = share_partition.begin_acknowledge(acknowledgement, self.group_config(key.group_id), now_ms)
        except BrokerError as error:
            return kept(error)
        for batch in batches:
            # Counted when they are valid. Kafka counts once they are written (SharePartitionManager.acknowledge), so
            # those of a refused write count only here.
            self._count(batch)
        return StateChange(share_partition, changes, batches)

    # ---------------------------------------------------------------------------------------- endings

    def close_session(self, key: ShareSessionKey, now_ms: int) -> list[StateChange]:
        """Close a session, if it exists, and release the records that its member has acquired.

        Args:
            key: The group and member.
            now_ms: Monotonic time.

        Returns:
            The releases, which may end later.
        """
        return [] if self.sessions.get(key) is None else self._release(self.sessions.close(key), now_ms)

    def connection_closed(self, connection_id: int, now_ms: int) -> tuple[SharePartitionKey, ...]:
        """Close the sessions that a connection opened. Returns the changes like `led.take_changed`.

        As in Kafka, a group is forgotten with the last connection that has opened sessions of it: the next session
        loads its share-partitions again, and no longer knows which records were acquired together.
        """
        # KIP-932, "Share sessions": a session ends with its connection. Kafka does it in
        # ShareSessionCache.maybeRemoveConnectionFromSession and forgets an empty group's share-partitions by
        # SharePartitionManager.ShareGroupListenerImpl.
        for session in self.sessions.close_connection(connection_id):
            self._release(session, now_ms)
        for group_id in self.sessions.forget_connection(connection_id):
            self.led.drop_group(group_id)
        return self.led.take_changed()

    def metadata_changed(self, delta: MetadataDelta) -> tuple[SharePartitionKey, ...]:
        """Drop partitions that moved, changed their epoch, or were deleted.

        Returns the changes like `led.take_changed`. If share groups were disabled, everything is dropped, and all
        sessions end.
        """
        self.led.drop_partitions(tuple(delta.lost_partitions()))
        # The feature share.version was set to 0 while groups were running (SharePartitionManager.onShareVersionToggle).
        if SHARE_FEATURE in delta.features and not self._metadata.has_share_groups:
            self.sessions.clear()
            self.led.drop_all()
        return self.led.take_changed()

    def expire(self, now_ms: int) -> tuple[SharePartitionKey, ...]:
        """Release the records whose locks have expired. Returns the changes like `led.take_changed`."""
        self.led.expire(now_ms)
        return self.led.take_changed()

    # ----------------------------------------------------------------------------------------- insides

    def _session_of(self, key: ShareSessionKey, requested: FetchRequested, connection_id: int) -> Work[ShareSession]:
        if requested.epoch == INITIAL_EPOCH:
            # KIP-932, "Share sessions", has the old session's records released. Kafka releases nothing here
            # (SharePartitionManager.newContext): the member keeps the records that it acquired in the previous session.
            return self.sessions.open(key, connection_id, requested.listed)
        session = self.sessions.advance(key, requested.epoch)
        yield from session.update(requested.listed, requested.forgotten)
        return session

    def _count(self, batch: AcknowledgementBatch) -> None:
        types = batch.acknowledge_types
        if len(types) == 1:
            self.acknowledgements[types[0]] += batch.last_offset - batch.first_offset + 1
        else:
            self.acknowledgements.update(types)

    def _release(self, session: ShareSession, now_ms: int) -> list[StateChange]:
        """Release a member's records of its session's partitions. As in Kafka, this excludes removed partitions."""
        config, member_id = self.group_config(session.key.group_id), session.key.member_id
        changes = []
        # Kafka releases by the partitions of the session, too (SharePartitionManager.releaseSession). Records of a
        # partition that the member removed from it stay acquired until they are acknowledged or their locks expire.
        for key in self.led.loaded_among(session.key.group_id, session.partitions):
            try:
                share_partition = self.led.find(key, now_ms)
            except BrokerError:
                # Moved or deleted: the new leader has not delivered anything to this member.
                continue
            if share_partition is not None:
                change = StateChange(share_partition, share_partition.release(member_id, config))
                self.led.write(change)
                changes.append(change)
        return changes
