"""The configuration of a producer of records: batches, memory, compression and transactions."""

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen

from kafka_groups.config.keys import INT_MAX, LONG_MAX, Key, KeyType
from kafka_groups.config.readers import UnfitError, read_integer
from kafka_groups.config.records.record_connection import RecordConnectionConfig
from kafka_groups.config.settings import setting
from kafka_groups.errors import KafkaGroupsError

__all__ = ["ProducerConfig"]

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_CODEC_DEFAULT: Final = -1
_LEVELS: Final[Mapping[str, tuple[int, int]]] = {"gzip": (0, 9), "lz4": (0, 12), "zstd": (0, 22), "snappy": (0, 0)}
"""The levels that `compression.level` may have, other than -1. snappy has one, and librdkafka calls it 0."""
_FASTEST_LZ4, _JAVAS_FASTEST_LZ4 = 0, 9
_GZIP_DEFAULT, _ZSTD_DEFAULT = 6, 3
_DEFAULT_LEVELS: Final[Mapping[str, int]] = {
    "compression_gzip_level": _CODEC_DEFAULT,
    "compression_lz4_level": _JAVAS_FASTEST_LZ4,
    "compression_zstd_level": _ZSTD_DEFAULT,
}


def _int(name: str, default: int, doc: str, **options: Any) -> Any:
    limits: dict[str, Any] = {"type": KeyType.INT, "minimum": 0, "maximum": INT_MAX} | options
    return setting(Key(name=name, default=default, doc=doc, **limits))


def _read_gzip_level(value: object) -> int:
    level = read_integer(value)
    if level == 0:
        raise UnfitError("it would not compress")
    return level


_COMPRESSION_LEVEL: Final = Key(
    name="compression.level",
    type=KeyType.INT,
    default=_CODEC_DEFAULT,
    minimum=_CODEC_DEFAULT,
    maximum=22,
    doc="The level of compression.type, as librdkafka counts it: 0 to 9 for gzip, 0 to 12 for lz4, 0 to 22 for zstd. "
    "-1 is the codec's default. The key of the codec does the same with Java's numbers.",
)


@frozen(kw_only=True)
class ProducerConfig(RecordConnectionConfig):
    """The configuration of a producer of records.

    Attributes:
        prefix: The prefix with which a user writes the keys, such as `producer.`, for errors.
    """

    whose = "a producer"

    prefix: str = field(default="", eq=False, repr=False)

    linger_ms: int = _int(
        "linger.ms",
        5,
        "How long a record may wait for others of its partition, so that they are sent as one batch. A commit sends "
        "all at once.",
        unit="ms",
        aliases=("queue.buffering.max.ms",),
    )
    batch_size: int = _int(
        "batch.size",
        131_072,
        "A batch with this much is sent without waiting for linger.ms. It counts bytes before compression.",
        unit="bytes",
        minimum=1,
    )
    buffer_memory: int = _int(
        "buffer.memory",
        33_554_432,
        "Memory for records that brokers have not confirmed yet. While it is full, no records are processed.",
        unit="bytes",
        type=KeyType.LONG,
        minimum=1,
        maximum=LONG_MAX,
        aliases=("queue.buffering.max.kbytes",),
    )
    max_request_size: int = _int(
        "max.request.size",
        1_048_576,
        "The largest record, before compression, and the largest request. A record that is larger is refused, and the "
        "production_exception_handler decides about it.",
        unit="bytes",
        minimum=1_000,
        aliases=("message.max.bytes",),
    )
    compression_type: str = setting(
        Key(
            name="compression.type",
            type=KeyType.STRING,
            default="none",
            choices=_CODECS,
            doc="How batches are compressed.",
            aliases=("compression.codec",),
        )
    )
    compression_level: int = setting(_COMPRESSION_LEVEL)
    compression_gzip_level: int = _int(
        "compression.gzip.level",
        _DEFAULT_LEVELS["compression_gzip_level"],
        "The level for compression.type=gzip: 1 is fast, 9 is small, and -1 is gzip's default.",
        minimum=_CODEC_DEFAULT,
        maximum=9,
        reader=_read_gzip_level,
        form="a whole number from 1 to 9, or -1",
    )
    compression_lz4_level: int = _int(
        "compression.lz4.level",
        _DEFAULT_LEVELS["compression_lz4_level"],
        "The level for compression.type=lz4. As in Java, 9 is the fast compressor, and any other number is the level "
        "of the one for small results.",
        minimum=1,
        maximum=17,
    )
    compression_zstd_level: int = _int(
        "compression.zstd.level",
        _DEFAULT_LEVELS["compression_zstd_level"],
        "The level for compression.type=zstd: the larger, the smaller the result.",
        minimum=-131_072,
        maximum=22,
    )
    transaction_timeout_ms: int = _int(
        "transaction.timeout.ms",
        10_000,
        "The time after which the brokers abort a transaction that does not end. At most their "
        "transaction.max.timeout.ms.",
        unit="ms",
        minimum=1,
    )
    max_in_flight_requests_per_connection: int = _int(
        "max.in.flight.requests.per.connection",
        5,
        "How many requests a broker may have before it has answered the first. Brokers keep the order of up to five.",
        minimum=1,
        maximum=5,
        aliases=("max.in.flight",),
    )

    @property
    def codec_level(self) -> int | None:
        """The level to compress with, as the codec's library counts it; None if the codec has no levels."""
        if self.compression_type in {"none", "snappy"}:
            return None
        if self.compression_level != _CODEC_DEFAULT:
            return self.compression_level
        return self._level_of_codec()

    def _level_of_codec(self) -> int:
        if self.compression_type == "zstd":
            return self.compression_zstd_level
        if self.compression_type == "gzip":
            level = self.compression_gzip_level
            return _GZIP_DEFAULT if level == _CODEC_DEFAULT else level
        # Lz4BlockOutputStream in Kafka takes its default level, 9, for the fast compressor.
        level = self.compression_lz4_level
        return _FASTEST_LZ4 if level == _JAVAS_FASTEST_LZ4 else level

    def __attrs_post_init__(self) -> None:
        """Check the level against the codec."""
        level, codec, named = self.compression_level, self.compression_type, f"{self.prefix}compression"
        if level == _CODEC_DEFAULT:
            return
        if codec not in _LEVELS:
            remedy = f"Set {named}.type to {', '.join(_LEVELS)}, or remove {named}.level"
            raise self._wrong_level(f"{named}.type is none", remedy)
        low, high = _LEVELS[codec]
        if not low <= level <= high:
            remedy = f"Use a whole number from {low} to {high}, or -1 for the default of {codec}"
            raise self._wrong_level(f"{codec} has no such level", remedy)
        if self._has_two_levels():
            raise self._wrong_level(f"{named}.{codec}.level is set, too", "Remove one of them")

    def _wrong_level(self, why: str, remedy: str) -> KafkaGroupsError:
        named = f"{self.prefix}{_COMPRESSION_LEVEL.name}"
        return _COMPRESSION_LEVEL.problem(self.compression_level, why, named=named, remedy=remedy)

    def _has_two_levels(self) -> bool:
        attribute = f"compression_{self.compression_type}_level"
        return attribute in _DEFAULT_LEVELS and getattr(self, attribute) != _DEFAULT_LEVELS[attribute]
