"""Captures the golden bytes anew: `python -m tests.recording.golden_capture` from the root of the project.

It starts a real Kafka, lets other clients tour it through a proxy that records, and keeps one frame for each
thing that a frame can show. Ids, ports and times differ from capture to capture; what tests assert does not.
Needs Java with its compiler, Maven and confluent-kafka. Takes about a minute.
"""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka
from attrs import evolve, frozen
from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.codec import correlation_id_of, decode_request, decode_response
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kafka_groups.protocol.messages.share_fetch import ShareFetchRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.testing.fault_proxy import Exchange, FaultProxy
from kafka_groups.testing.kafka_jars import find_tool, kafka_jars
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.recording.golden import Golden, save_manifest
from tests.recording.golden_state import NEWEST, OLDEST, STATE_RESPONSES, StateTour
from tests.support.kafka.real_kafka import RawConnection
from tests.support.requests.share_requests import ShareRequests

JAVA_TOUR = Path(__file__).parents[1] / "support" / "kafka" / "java" / "ShareGroupTour.java"
JAVA_VERSIONS: Mapping[str, str] = {"java": "4.4.0", "java41": "4.1.1"}  # the latter speaks v1 of the share APIs
RECORDS = 40
LOCK_MS = 1000
OWN_MESSAGES = "kafka_groups' own messages"

Shows = Callable[[Any], bool]
"""(message) → whether a frame with this body is the one that is wanted."""


# ---------------------------------------------------------------------------------- what is looked for


def _partitions(message: Any) -> Iterator[Any]:
    topics = message.responses if hasattr(message, "responses") else message.topics
    return (partition for topic in topics for partition in topic.partitions)


def _acknowledged(message: Any) -> set[int]:
    batches = (batch for partition in _partitions(message) for batch in partition.acknowledgement_batches)
    return {kind for batch in batches for kind in batch.acknowledge_types}


def _group_error(message: Any) -> bool:
    return bool(message.groups and message.groups[0].error_code)


REQUESTS: Mapping[ApiKey, Mapping[str, Shows]] = {
    ApiKey.API_VERSIONS: {"api-versions": lambda m: bool(m.client_software_name)},
    ApiKey.METADATA: {"metadata-by-name": lambda m: bool(m.topics) and m.topics[0].name is not None},
    ApiKey.FIND_COORDINATOR: {"find-coordinator": lambda m: m.key_type == 0},
    ApiKey.SHARE_GROUP_HEARTBEAT: {
        "join": lambda m: m.member_epoch == 0,
        "stay": lambda m: m.member_epoch > 0,
        "leave": lambda m: m.member_epoch == -1,
    },
    ApiKey.SHARE_GROUP_DESCRIBE: {"describe": lambda m: bool(m.group_ids)},
    ApiKey.SHARE_FETCH: {
        "open-session": lambda m: m.share_session_epoch == 0,
        "fetch-on": lambda m: m.share_session_epoch > 0 and not m.topics,
        "fetch-with-acknowledgements": lambda m: bool(_acknowledged(m)) and not m.is_renew_ack,
        "fetch-with-renewal": lambda m: m.is_renew_ack,
    },
    ApiKey.SHARE_ACKNOWLEDGE: {
        "acknowledge": lambda m: {1, 2, 3} <= _acknowledged(m),
        "renew": lambda m: m.is_renew_ack,
        "close-session": lambda m: m.share_session_epoch == -1,
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        "offsets-of-all": lambda m: m.groups[0].topics is None,
        "offsets-of-some": lambda m: bool(m.groups[0].topics),
    },
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: {"alter-offsets": lambda m: bool(m.topics)},
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {"delete-offsets": lambda m: bool(m.topics)},
}
RESPONSES: Mapping[ApiKey, Mapping[str, Shows]] = {
    ApiKey.API_VERSIONS: {"api-versions-response": lambda m: bool(m.finalized_features)},
    ApiKey.METADATA: {"metadata-response": lambda m: bool(m.topics and m.topics[0].partitions)},
    ApiKey.FIND_COORDINATOR: {
        "coordinator-found": lambda m: m.node_id > 0 or any(c.node_id > 0 for c in m.coordinators),
        "coordinator-missing": lambda m: any(c.error_code == 15 for c in m.coordinators),
    },
    ApiKey.SHARE_GROUP_HEARTBEAT: {
        "joined": lambda m: m.assignment is not None and not m.assignment.topic_partitions,
        "assigned": lambda m: m.assignment is not None and bool(m.assignment.topic_partitions),
        "unchanged": lambda m: m.assignment is None and m.member_epoch > 0,
        "left": lambda m: m.member_epoch == -1,
        "unknown-member": lambda m: m.error_code == 25,
    },
    ApiKey.SHARE_GROUP_DESCRIBE: {
        "described": lambda m: bool(m.groups[0].members),
        "described-missing": _group_error,
    },
    ApiKey.SHARE_FETCH: {
        "fetched": lambda m: any(p.acquired_records for p in _partitions(m)),
        "fetched-again": lambda m: any(a.delivery_count > 1 for p in _partitions(m) for a in p.acquired_records),
        "fetch-late-acknowledgement": lambda m: any(p.acknowledge_error_code == 121 for p in _partitions(m)),
        "fetch-no-session": lambda m: m.error_code == 122,
    },
    ApiKey.SHARE_ACKNOWLEDGE: {
        "acknowledged": lambda m: bool(m.responses) and not any(p.error_code for p in _partitions(m)),
        "acknowledged-late": lambda m: any(p.error_code == 121 for p in _partitions(m)),
        "acknowledge-bad-epoch": lambda m: m.error_code == 123,
    },
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: {
        "offsets": lambda m: any(p.start_offset > 0 for t in m.groups[0].topics for p in t.partitions),
        "offsets-of-unknown-topic": lambda m: any(t.topic_id is None for t in m.groups[0].topics),
        "offsets-of-missing-group": lambda m: not m.groups[0].topics,
    },
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: {
        "offsets-altered": lambda m: not m.error_code,
        "alter-offsets-refused": lambda m: m.error_code == 68,
    },
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: {
        "offsets-deleted": lambda m: not m.error_code,
        "delete-offsets-refused": lambda m: m.error_code == 68,
    },
    **STATE_RESPONSES,
}  # fmt: skip


@frozen
class Recording:
    """What one client exchanged with the broker."""

    source: str
    client: str
    exchanges: list[Exchange]


# -------------------------------------------------------------------------------------------- the tours


def tour_by_java(kafka: KafkaProcess, source: str) -> Recording:
    """Kafka's Java clients of one release."""
    version = JAVA_VERSIONS[source]
    jars = kafka_jars(version)
    exchanges: list[Exchange] = []
    with tempfile.TemporaryDirectory() as classes, FaultProxy(kafka.bootstrap_servers, exchanges.append) as proxy:
        subprocess.run([_tool("javac"), "-d", classes, "-cp", f"{jars}/*", str(JAVA_TOUR)], check=True)
        subprocess.run(
            [_tool("java"), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{classes}:{jars}/*",
             "ShareGroupTour", proxy.bootstrap_servers, f"golden-topic-{source}", f"golden-group-{source}"],
            check=True, timeout=120,
        )  # fmt: skip
    return Recording(source, f"Apache Kafka's Java clients {version}", exchanges)


def tour_by_librdkafka(kafka: KafkaProcess) -> Recording:
    """confluent-kafka's share consumer."""
    exchanges: list[Exchange] = []
    topic, group = "golden-topic-librdkafka", "golden-group-librdkafka"
    with FaultProxy(kafka.bootstrap_servers, exchanges.append) as proxy:
        _prepare(proxy.bootstrap_servers, topic, group)
        consumer = ShareConsumer({
            "bootstrap.servers": proxy.bootstrap_servers, "group.id": group, "client.id": "golden-consumer",
            "client.rack": "rack-a", "share.acknowledgement.mode": "explicit", "max.poll.records": 6,
        })  # fmt: skip
        consumer.subscribe([topic])
        _acknowledge_in_turn(consumer, "ACCEPT", "RELEASE", "REJECT")
        consumer.commit_sync()
        _acknowledge_in_turn(consumer, "ACCEPT", "RELEASE", "REJECT")  # goes with the next poll
        _acknowledge_in_turn(consumer, "RELEASE")
        consumer.commit_sync()
        _accept_too_late(consumer)
        consumer.commit_sync()
        _accept_too_late(consumer)
        _acknowledge_in_turn(consumer, "RELEASE")
        consumer.close()
    client = f"confluent-kafka {confluent_kafka.version()} (librdkafka {confluent_kafka.libversion()[0]})"
    return Recording("librdkafka", client, exchanges)


def errors_by_hand(kafka: KafkaProcess) -> Recording:
    """Errors that well-behaved clients do not provoke; the requests are ours, so only the responses are kept."""
    exchanges: list[Exchange] = []
    group, member = "golden-group-raw", "A" * 22
    join = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=0, subscribed_topic_names=("golden-topic-raw",)
    )
    fetch = ShareFetchRequest(
        group_id=group, member_id=member, share_session_epoch=7, max_wait_ms=0, min_bytes=0, max_records=1, batch_size=1
    )
    acknowledge = ShareAcknowledgeRequest(group_id=group, member_id=member, share_session_epoch=0)
    with FaultProxy(kafka.bootstrap_servers, exchanges.append) as proxy:
        host, _, port = proxy.bootstrap_servers.rpartition(":")
        with RawConnection(host, int(port)) as connection:
            connection.ask(join, 1)
            connection.ask(evolve(join, member_id="B" * 22, member_epoch=3, subscribed_topic_names=None), 1)
            for version in (2, 1):
                connection.ask(fetch, version)
                connection.ask(acknowledge, version)
    return Recording("raw", OWN_MESSAGES, exchanges)


def administration_by_hand(kafka: KafkaProcess, source: str) -> Recording:
    """Share state, which only brokers ask for, and offsets of a group that has a member."""
    exchanges: list[Exchange] = []
    topic, group = f"golden-topic-{source}", f"golden-group-{source}"
    with FaultProxy(kafka.bootstrap_servers, exchanges.append) as proxy:
        host, _, port = proxy.bootstrap_servers.rpartition(":")
        with RawConnection(host, int(port)) as connection:
            requests = ShareRequests(connection, group)
            topic_id = requests.create_topic(topic)
            StateTour(connection, source, f"{group}-state", topic_id).run()
            if source == NEWEST:
                requests.heartbeat("A" * 22, 0, [topic])
                requests.alter_offsets(topic, {0: 1})
                requests.delete_offsets(topic)
    return Recording(source, OWN_MESSAGES, exchanges)


def _prepare(servers: str, topic: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)]).values():
        created.result(timeout=30)
    wanted = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)}
    entries: Any = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in wanted.items()]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    for altered in admin.incremental_alter_configs([resource]).values():
        altered.result(timeout=30)
    producer = Producer({"bootstrap.servers": servers})
    for i in range(RECORDS):
        producer.produce(topic, key=f"key-{i}", value=f"value-{i}", partition=i % 2)
        producer.flush(30)


def _acknowledge_in_turn(consumer: ShareConsumer, *types: str) -> None:
    for i, message in enumerate(_poll(consumer)):
        consumer.acknowledge(message, AcknowledgeType[types[i % len(types)]])


def _accept_too_late(consumer: ShareConsumer) -> None:
    messages = _poll(consumer)
    threading.Event().wait(2.5 * LOCK_MS / 1000)  # until the broker has taken the locks back
    for message in messages:
        consumer.acknowledge(message, AcknowledgeType.ACCEPT)


def _poll(consumer: ShareConsumer) -> list[Message]:
    for _ in range(100):
        messages = list(consumer.poll(timeout=0.2))
        if messages:
            return messages
    return []


def _tool(name: str) -> str:
    path = find_tool(name)
    if path is None:
        raise SystemExit(f"{name} is not installed")
    return path


# --------------------------------------------------------------------------------------------- keeping


def keep(recording: Recording, broker: str) -> Iterator[Golden]:
    """Store the first frame that shows each thing, and tell what was not to be found."""
    for key in RESPONSES:
        known = [e for e in recording.exchanges if e.header.api_key == key and e.header.version in APIS[key].versions]
        for name, shows in REQUESTS.get(key, {}).items():
            found = next((e for e in known if shows(decode_request(e.request, e.header))), None)
            if recording.client != OWN_MESSAGES:
                yield from _kept(recording, found, name, "request", broker)
        for name, shows in RESPONSES[key].items():
            found = next((e for e in known if shows(decode_response(e.response, key, e.header.version))), None)
            yield from _kept(recording, found, name, "response", broker)


def _kept(recording: Recording, found: Exchange | None, name: str, kind: str, broker: str) -> Iterator[Golden]:
    if found is None:
        sys.stdout.write(f"{recording.source}: no {name}\n")
        return
    payload = found.request if kind == "request" else found.response
    golden = Golden(
        name=f"{recording.source}-{name}",
        api=ApiKey(found.header.api_key).name.lower(),
        kind=kind,
        version=found.header.version,
        client=recording.client,
        broker=broker,
        correlation_id=correlation_id_of(found.response),
        client_id=found.header.client_id if kind == "request" else None,
    )
    golden.write(payload)
    yield golden


def main() -> None:
    """Capture everything."""
    with KafkaProcess() as kafka:
        recordings = [tour_by_java(kafka, source) for source in JAVA_VERSIONS]
        recordings += [tour_by_librdkafka(kafka), errors_by_hand(kafka)]
        recordings += [administration_by_hand(kafka, source) for source in (NEWEST, OLDEST)]
    save_manifest([golden for each in recordings for golden in keep(each, f"Apache Kafka {kafka.version}")])


if __name__ == "__main__":
    main()
