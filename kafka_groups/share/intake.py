"""The records of a poll: decoded deliveries up to `max.poll.records`, and the errors to raise between them."""

from collections import deque
from collections.abc import Sequence

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.inbox import CompletedFetch, Inbox

__all__ = ["Intake"]


class Intake:
    """Decodes the deliveries in the inbox, only as many as a poll needs.

    Args:
        config: The consumer's configuration.
        inbox: Has the deliveries, and takes back the part of one that a poll leaves.
    """

    def __init__(self, config: ShareConsumerConfig, inbox: Inbox) -> None:
        self._inbox = inbox
        self._most = config.max_poll_records
        self._deserializes = config.key_deserializer is not None or config.value_deserializer is not None
        self._decoder = Decoder(
            check_crcs=config.check_crcs,
            key_deserializer=config.key_deserializer,
            value_deserializer=config.value_deserializer,
            raise_errors=config.on_deserialization_error == "raise",
            events=inbox.events,
        )
        self._decoded: deque[DeliveredRecords | KafkaGroupsError] = deque()

    @property
    def set_aside(self) -> tuple[DeliveredRecords, ...]:
        """Decoded deliveries that no poll has returned: they follow an error, or a loop never reached them."""
        return tuple(item for item in self._decoded if isinstance(item, DeliveredRecords))

    def publish(self, in_hand: Sequence[DeliveredRecords]) -> None:
        """Tell the loop's side what the application holds, and what is set aside."""
        self._inbox.in_hand = tuple(in_hand)
        self._inbox.set_aside = self.set_aside if self._decoded else ()

    def take(self, in_hand: list[DeliveredRecords], now_ms: int) -> list[DeliveredRecords]:
        """Take the deliveries of one poll. From now on they are in hand.

        Raises:
            KafkaGroupsError: An error stands before the next records.
        """
        taken: list[DeliveredRecords] = []
        missing = self._most
        # Whole deliveries are taken until the poll has enough. Kafka's client collects whole batches in the same way
        # (ShareFetchCollector.collect).
        while missing > 0 and (self._decoded or self._decode_next(now_ms)):
            item = self._decoded[0]
            # An error ends the poll. Records in front of it are returned first, and the next poll raises it, so that no
            # records are lost in an exception.
            if not isinstance(item, DeliveredRecords):
                if taken:
                    break
                self._decoded.popleft()
                self._take_what_failed(in_hand)
                raise item
            self._decoded.popleft()
            taken += self._take_in_hand(item, in_hand, now_ms)
            missing -= item.size
        return taken

    def take_these(
        self, wanted: Sequence[DeliveredRecords], in_hand: list[DeliveredRecords], now_ms: int
    ) -> list[DeliveredRecords]:
        """Take deliveries out of those that were set aside."""
        taken: list[DeliveredRecords] = []
        for delivery in wanted:
            self._decoded.remove(delivery)
            taken += self._take_in_hand(delivery, in_hand, now_ms)
        return taken

    def put_first(self, deliveries: Sequence[DeliveredRecords]) -> None:
        """Set deliveries aside, before all others that wait."""
        self._decoded.extendleft(reversed(deliveries))

    def give_up(self) -> tuple[DeliveredRecords, ...]:
        """Drop decoded deliveries; keep errors."""
        given_up = self.set_aside
        for delivery in given_up:
            self._decoded.remove(delivery)
        return given_up

    def clear(self) -> None:
        """Drop decoded deliveries and errors."""
        self._decoded.clear()

    def _take_in_hand(
        self, item: DeliveredRecords, in_hand: list[DeliveredRecords], now_ms: int
    ) -> tuple[DeliveredRecords, ...]:
        if item.lock_deadline_ms <= now_ms:  # it waited behind an error or for a loop
            self._inbox.expired(item)
            return ()
        in_hand.append(item)
        # A delivery of gaps alone has nothing to show, but its acknowledgements must be sent: it is in hand for that.
        return (item,) if item.size else ()

    def _take_what_failed(self, in_hand: list[DeliveredRecords]) -> None:
        """Take the record that an error is about.

        The application may acknowledge its offset; by default it is released.
        """
        # KIP-932, "Handling bad records": the application may override the release of a record that could not be
        # deserialised.
        if self._decoded and isinstance(failed := self._decoded[0], DeliveredRecords) and not failed.size:
            in_hand.append(failed)
            self._decoded.popleft()

    def _decode_next(self, now_ms: int) -> bool:
        """Decode the next waiting delivery. Return False if there is none."""
        fetched = self._inbox.take(now_ms)
        # Nothing waits, or only deliveries that had lost their locks.
        if fetched is None:
            return False
        first, error = fetched.acquired, fetched.error
        # There are two cases: a response as it came, which is split into parts of a poll, and a part that was decoded
        # before.
        if fetched.blob is not None:
            (first, *rest), error = self._decoder.split(first, fetched.blob, self._most)
            if rest:
                # The error belongs behind the last part. The parts wait in the inbox, so that their locks are renewed.
                self._inbox.put_back([*map(_left_over, rest[:-1]), _left_over(rest[-1], error)])
                error = None
        self._decoded.extend(self._decoder.deserialize(first) if self._deserializes else (first,))
        if error is not None:
            self._decoded.append(error)
        return True


def _left_over(delivery: DeliveredRecords, error: KafkaGroupsError | None = None) -> CompletedFetch:
    return CompletedFetch(delivery, None, error)
