"""`kafka-groups offsets` and `members` on an embedded broker and on a real Kafka, with the same output."""

from contextlib import closing

from confluent_kafka import Consumer

from tests.support.commands import Commands, rows
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

RECORDS = 4


def test_offsets_of_a_share_group_from_the_first_to_the_last(run: Commands) -> None:
    topic, group = unique("orders"), unique("share")
    run.lines("topics", "create", f"{topic}:1")
    run.write(topic, RECORDS)
    reset = ("offsets", "reset", group, "--topic", topic, "--to-latest")
    moved = [{"group": group, "topic": topic, "partition": 0, "offset": RECORDS}]
    run.lines("groups", "configs", group, "--set", "share.auto.offset.reset=earliest")
    run.lines("offsets", "reset", group, "--topic", topic, "--to-earliest", "--execute")
    assert run.document(*reset, "--dry-run")["items"] == moved
    (entry,) = run.document("offsets", "describe", group)["items"]
    assert entry == {"topic": topic, "partition": 0, "offset": 0, "end": None, "lag": RECORDS, "group": group}
    assert run.document(*reset, "--execute")["items"] == moved
    assert rows("\n".join(run.lines("offsets", "describe", group))) == [f"{group} {topic} 0 {RECORDS} 0"]
    assert f"{group} {topic}:0" in run.lines("offsets", "describe", "--all-groups", "--quiet")
    forgotten = [{"group": group, "topic": topic}]
    assert run.document("offsets", "delete", group, "--topic", topic, "--dry-run")["items"] == forgotten
    assert run.document("offsets", "delete", group, "--topic", topic)["items"] == forgotten
    assert run("offsets", "describe", group).stderr.startswith(f"{group}: It has no offsets")


def test_a_static_member_is_removed(run: Commands) -> None:
    topic, group = unique("orders"), unique("classic")
    run.lines("topics", "create", f"{topic}:1")
    reader = Consumer(
        {"bootstrap.servers": run.servers, "group.id": group, "group.instance.id": "one", "session.timeout.ms": 30_000}
    )
    with closing(reader):
        reader.subscribe([topic])

        def is_member() -> bool:
            reader.poll(0.2)
            found = run("groups", "describe", group, "--members")
            return found.exit_code == 0 and "one" in found.stdout.split()

        wait_until(is_member, 60)
        found = run.document("members", "remove", group, "--instance", "one", "--instance", "two", status=1)
    assert [(each["group"], each["instance"]) for each in found["items"]] == [(group, "one")]
    assert [(each["resource"], each["code"]) for each in found["errors"]] == [("two", "UNKNOWN_MEMBER_ID")]
