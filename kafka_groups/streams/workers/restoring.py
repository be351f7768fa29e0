"""Restoration on our own engine, for workers whose other records go through librdkafka."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from kafka_groups.client.requests import Lane
from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.config.records.record_reader import check_fetch_wait, default_fetch_wait_ms
from kafka_groups.errors import ConfigurationError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.records.interface import DataPlane
from kafka_groups.records.plane import RestoringPlane
from kafka_groups.records.reader import RecordReader
from kafka_groups.streams.workers.data_plane import ENGINE

__all__ = ["DEFAULT_RESTORE_PLANE", "RESTORE_PLANE", "restore_options", "restoring_plane"]

_log = logging.getLogger(__name__)

RESTORE_PLANE: Final = "internal.restore.plane"
"""The key that chooses how changelogs and global topics are read. It is not documented, and will go."""

DEFAULT_RESTORE_PLANE: Final = ENGINE
"""The way of applications that do not choose one."""

_KIB: Final = 1024
_OWN: Final = ("global", "restore")
_ALIASES: Final[Mapping[str, str]] = {
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "socket.timeout.ms": "request.timeout.ms",
}
_LIMITS: Final[Mapping[str, str]] = {
    "fetch.min.bytes": "min_bytes",
    "fetch.max.wait.ms": "max_wait_ms",
    "fetch.max.bytes": "max_bytes",
    "max.partition.fetch.bytes": "max_partition_bytes",
    "fetch.buffer.bytes": "buffer_bytes",
}
_MAY_BE_ZERO: Final = frozenset({"fetch.min.bytes", "fetch.max.wait.ms"})
_KNOWN: Final = frozenset({*_LIMITS, "check.crcs", "client.rack", "request.timeout.ms", "queued.max.messages.kbytes"})


def restoring_plane(plane: DataPlane, config: StreamsConfig, options: FetchOptions) -> RestoringPlane:
    """Return a plane that restores on our own engine, and does the rest on another one."""
    client = RecordsClient(config, metadata_max_age_ms=config.metadata_max_age_ms)
    return RestoringPlane(plane, client, RecordReader(client, options, "restore"))


def restore_options(config: StreamsConfig) -> FetchOptions:
    """Return the settings of the reader of changelogs and global topics: those of all consumers, and those of its own.

    Raises:
        ConfigurationError: A value is invalid, or a key of `restore.consumer` or `global.consumer` has no meaning here.
    """
    given = _given(config)
    timeout_ms = _number("request.timeout.ms", given.get("request.timeout.ms", config.request_timeout_ms))
    limits = {_LIMITS[name]: _number(name, value) for name, value in given.items() if name in _LIMITS}
    check_fetch_wait(limits.setdefault("max_wait_ms", default_fetch_wait_ms(timeout_ms)), timeout_ms)
    return FetchOptions(
        limits=ReadingLimits(**limits),
        rack=str(given.get("client.rack", config.client_rack or "")),
        check_crcs=_boolean("check.crcs", given.get("check.crcs", True)),
        request_timeout_ms=timeout_ms,
        lane=Lane.RESTORATION,
    )


def _given(config: StreamsConfig) -> dict[str, object]:
    found = dict(_renamed("consumer", dict(config.consumer), _note))
    for purpose in _OWN:
        settings: Mapping[str, object] = dict(getattr(config, f"{purpose}_consumer"))
        found.update(_renamed(f"{purpose}.consumer", settings, _refuse))
    return found


def _renamed(prefix: str, settings: Mapping[str, object], on_unknown: Callable[[str], None]) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for given, value in settings.items():
        name = _ALIASES.get(given, given)
        if name not in _KNOWN:
            on_unknown(f"{prefix}.{given}")
        elif name == "queued.max.messages.kbytes":
            found["fetch.buffer.bytes"] = _number(name, value) * _KIB
        else:
            found[name] = value
    return found


def _note(name: str) -> None:
    _log.info("%s has no effect on restoration, which does not use librdkafka.", name)


def _refuse(name: str) -> None:
    raise ConfigurationError(
        f"{name} has no meaning: changelogs and global topics are not read with librdkafka. Remove it. The keys that"
        f" have a meaning there are {', '.join(sorted(_KNOWN | _ALIASES.keys()))}."
    )


def _number(name: str, value: object) -> int:
    least = 0 if name in _MAY_BE_ZERO else 1
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < least:
        raise ConfigurationError(f"{name}={value!r} of a consumer is invalid. Use a number of {least} or more.")
    return number


def _boolean(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ConfigurationError(f"{name}={value!r} of a consumer is invalid. Use true or false.")
    return text == "true"
