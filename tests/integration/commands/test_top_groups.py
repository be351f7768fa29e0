"""Groups in `kafka-groups top`: members, lag and rates from brokers alone."""

import asyncio
import json
from typing import Any

from jsonschema import Draft202012Validator

from kafka_groups import KafkaShareConsumer
from kafka_groups.cli.documents.catalogue import LINES
from kafka_groups.cli.documents.document import line_schema_of
from kafka_groups.cli.top.group_source import GroupSource
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.config.clients.admin import admin_config
from tests.support.commands import Commands, rows
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

RECORDS = 5
SCHEMA = Draft202012Validator(line_schema_of(LINES["top"]))


def seen(run: Commands, group: str) -> Any:
    """A group as a line of JSON says."""
    done = run("top", "--once", "--json", group)
    assert done.exit_code == 0, done.output
    line = json.loads(done.stdout)
    SCHEMA.validate(line)
    return line


def test_a_group_is_a_row_with_its_members_and_lag(run: Commands) -> None:
    topic, group = unique("orders"), unique("share")
    run.lines("topics", "create", f"{topic}:1")
    run.write(topic, RECORDS)
    run.lines("groups", "configs", group, "--set", "share.auto.offset.reset=earliest")
    with KafkaShareConsumer(bootstrap_servers=run.servers, group_id=group, acknowledgement_mode="explicit") as consumer:
        consumer.subscribe([topic])
        records = list(consumer.poll(timeout=30))
        for record in records[:2]:
            consumer.acknowledge(record)
        consumer.commit_sync()
        wait_until(lambda: seen(run, group)["lag"] == RECORDS - 2, found=lambda: seen(run, group))
        entry = seen(run, group)
        assert (entry["kind"], entry["type"], entry["state"], entry["members"]) == ("group", "share", "Stable", 1)
        assert (entry["acknowledged_per_s"], entry["arriving_per_s"], entry["error"]) == (None, None, None)
        assert rows(run("top", "--once", group).stdout) == [f"{group} share Stable 1 {RECORDS - 2} - -"]

        async def looks() -> tuple[Any, Any]:
            client = admin_client(admin_config({"bootstrap.servers": run.servers}), Environment())
            source = GroupSource(client, [group])
            try:
                (before,) = (await source.look()).entries
                await asyncio.to_thread(run.write, topic, RECORDS)
                (after,) = (await source.look()).entries
            finally:
                await client.close()
            return before, after

        before, after = asyncio.run(looks())
        assert (before.arriving_per_s, after.lag) == (None, 2 * RECORDS - 2)
        assert after.arriving_per_s > 0
        assert after.acknowledged_per_s == 0


def test_a_group_that_does_not_exist_is_a_reason(run: Commands) -> None:
    absent = unique("absent")
    done = run("top", "--once", absent)
    assert (done.exit_code, rows(done.stdout)[0]) == (1, f"{absent} - - - - - -")
    assert f"group {absent}: " in done.stdout
