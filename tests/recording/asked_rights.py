"""The rights that a real Kafka asks for, API by API, recorded: `tests/golden/authorization-4.4.0.json`.

`python -m tests.recording.asked_rights` sends the requests again and writes the file, with those of `ADDED` that it
lacks. It needs Java 17 and Maven. `--version 4.3.1 --to FILE` records another release.
"""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.rights.asked_rights import discovered, replayed
from tests.support.rights.recorded_rights import GOLDEN, RightsEntry, load, written
from tests.support.rights.rights_worlds import kafka_rights

__all__ = ["ADDED", "recorded"]

_ANY = 1
_ACL = {
    "resource_type": 2, "resource_name": "orders", "resource_pattern_type": 3, "principal": "User:bob", "host": "*",
    "operation": 3, "permission_type": 3,
}  # fmt: skip
_FILTER = {
    "resource_type_filter": _ANY, "pattern_type_filter": _ANY, "principal_filter": "User:bob", "operation": _ANY,
    "permission_type": _ANY,
}  # fmt: skip


def _new(api: str, version: int, fields: Mapping[str, Any], *, is_unordered: bool = False) -> RightsEntry:
    return RightsEntry(api, version, fields, (), is_unordered)


def _altered(resource_type: int, name: str, config: str, value: str) -> dict[str, Any]:
    resource = {"resource_type": resource_type, "resource_name": name, "configs": [{"name": config, "value": value}]}
    return {"resources": [resource], "validate_only": True}


ADDED: Mapping[str, RightsEntry] = {
    "CreateAcls": _new("CreateAcls", 3, {"creations": [_ACL]}),
    "DescribeAcls": _new("DescribeAcls", 3, _FILTER),
    "DeleteAcls": _new("DeleteAcls", 3, {"filters": [_FILTER]}),
    "DescribeUserScramCredentials": _new("DescribeUserScramCredentials", 0, {"users": [{"name": "nobody"}]}),
    "AlterConfigs topic": _new("AlterConfigs", 2, _altered(2, "orders", "retention.ms", "100000")),
    "AlterConfigs broker": _new("AlterConfigs", 2, _altered(4, "1", "log.retention.ms", "100000")),
    "AlterConfigs group": _new("AlterConfigs", 2, _altered(32, "sg", "share.session.timeout.ms", "45000")),
    "AlterConfigs client metrics": _new("AlterConfigs", 2, _altered(16, "sub", "interval.ms", "1000")),
    "DescribeClientQuotas": _new("DescribeClientQuotas", 1, {}),
    "DescribeTransactions, open transaction": _new("DescribeTransactions", 0, {"transactional_ids": ["tx3"]}),
    "ConsumerGroupDescribe with authorized operations": _new(
        "ConsumerGroupDescribe", 1, {"group_ids": ["cg"], "include_authorized_operations": True}, is_unordered=True
    ),
    "StreamsGroupDescribe with authorized operations": _new(
        "StreamsGroupDescribe", 1, {"group_ids": ["stg"], "include_authorized_operations": True}, is_unordered=True
    ),
}
"""Requests that were added to the file. A request without steps is sent until nothing is denied."""


def _with_added(entries: Mapping[str, RightsEntry]) -> dict[str, RightsEntry]:
    return {**entries, **{name: entry for name, entry in ADDED.items() if name not in entries}}


async def recorded(version: str, entries: Mapping[str, RightsEntry]) -> dict[str, RightsEntry]:
    """Send requests to a real Kafka, with the rights of their steps."""
    found: dict[str, RightsEntry] = {}
    async with kafka_rights(version) as world:
        for name, entry in entries.items():
            send = replayed if entry.steps else discovered
            found[name] = await send(name, entry, world)
    return found


def main() -> None:
    """Record what Kafka asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default="4.4.0")
    parser.add_argument("--to", type=Path, default=GOLDEN)
    options = parser.parse_args()
    found = asyncio.run(recorded(options.version, _with_added(load())))
    options.to.write_text(written(found), encoding="utf-8")


if __name__ == "__main__":
    main()
