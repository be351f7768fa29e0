"""The configuration of a streams application whose records are read and written on the package's own engine.

The checks of `config/clients/prefixed.py` are about librdkafka's clients. `application_keys.py` reads the same keys for
our own readers and producer, takes others, and has other remedies, so nothing is refused before it looks at them.
"""

from attrs import frozen

from kafka_groups.config.clients.prefixed import overrides
from kafka_groups.config.clients.streams import StreamsConfig

__all__ = ["EngineStreamsConfig"]


@frozen(kw_only=True)
class EngineStreamsConfig(StreamsConfig):
    """The configuration of an application on our own engine. Keys with a prefix are not checked yet."""

    producer: tuple[tuple[str, object], ...] = overrides("producer", are_checked=False)
    consumer: tuple[tuple[str, object], ...] = overrides("consumer", are_checked=False)
    main_consumer: tuple[tuple[str, object], ...] = overrides("main.consumer", are_checked=False)
    restore_consumer: tuple[tuple[str, object], ...] = overrides("restore.consumer", are_checked=False)
    global_consumer: tuple[tuple[str, object], ...] = overrides("global.consumer", are_checked=False)
