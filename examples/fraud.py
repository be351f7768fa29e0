"""Find bursts of card payments that look like fraud, with a join, session windows and a dead-letter topic.

Run it with `python examples/fraud.py`, or with `--payments 2000` for fewer. With `--bootstrap-servers` it uses a Kafka
4.2 or newer instead of an embedded broker. It makes its topics there, and deletes them at the end.

A session is a series of payments with one card, each at most a minute after the one before. It is suspicious from five
payments on if they come from several countries, or add up to more than 1,000. Payments arrive up to half a minute late.
If the payment between two sessions arrives late, they become one session, and tombstones delete the alerts of the two.
One payment in a hundred is not valid JSON. The application writes it to a dead-letter topic and continues.
"""

import argparse
import random
import secrets
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice

import msgspec
from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import KafkaAdmin, serdes
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    KafkaStreams,
    Record,
    SessionWindows,
    StreamsBuilder,
    Topology,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster

PAYMENTS, OWNERS, ALERTS, BAD = TOPICS = ("card-payments", "card-owners", "card-alerts", "bad-card-payments")
PARTITIONS, CARDS = 3, 500
MILLISECOND = timedelta(milliseconds=1)
GAP, LATENESS = timedelta(minutes=1), timedelta(seconds=30)
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Payment:
    """A payment, as it comes. The record's key is the card, and its timestamp is the time of the payment."""

    cents: int
    country: str


@dataclass(frozen=True)
class Burst:
    """The payments of a session. It is the value of an alert, too."""

    owner: str = ""
    payments: int = 0
    cents: int = 0
    countries: tuple[str, ...] = ()

    def merge(self, other: "Burst") -> "Burst":
        """Return the payments of both."""
        countries = tuple(sorted({*self.countries, *other.countries}))
        return Burst(other.owner or self.owner, self.payments + other.payments, self.cents + other.cents, countries)

    def is_suspicious(self) -> bool:
        """Return whether somebody should look at it."""
        return self.payments >= 5 and (self.cents > 100_000 or len(self.countries) > 1)


PAYMENT, BURST, SESSION = serdes.json(Payment), serdes.json(Burst), serdes.session_windowed(serdes.string)
Alerts = dict[Windowed[str], Burst]
Arrival = tuple[int, int, str, Payment | None]
"""When a payment arrives and when it was made, in milliseconds, its card, and the payment; None if it is not valid."""


def build() -> Topology:
    """Return the topology."""
    builder = StreamsBuilder()
    owners = builder.table(OWNERS, key=serdes.string, value=serdes.string)
    payments = builder.stream(PAYMENTS, key=serdes.string, value=PAYMENT).join(owners, first_of_burst)
    sessions = payments.group_by_key(value=BURST).windowed_by(SessionWindows(GAP, grace=LATENESS))
    bursts = sessions.reduce(Burst.merge)
    bursts.filter(lambda _, burst: burst.is_suspicious()).to_stream().to(ALERTS)
    return builder.build()


def first_of_burst(payment: Payment, owner: str) -> Burst:
    """Return a burst of one payment."""
    return Burst(owner, 1, payment.cents, (payment.country,))


def keep_bad_payments(context: ErrorContext, record: Record[object, object], error: Exception) -> ErrorResponse:
    """Send what cannot be decoded to the dead-letter topic."""
    return ErrorResponse.DEAD_LETTER


def made_up_payments(count: int) -> list[Arrival]:
    """Make up payments in the order in which they arrive: single ones, and bursts abroad with a stolen card."""
    began = datetime.now(UTC) - timedelta(hours=8)  # noqa: TID251, brokers delete records that are a week old
    chance, begin_ms = random.Random(7), int(began.timestamp()) * 1000
    arrivals: list[Arrival] = []
    made_ms = begin_ms
    while len(arrivals) < count:
        made_ms += chance.randrange(1, 2_000)
        card, is_stolen = f"card-{chance.randrange(CARDS)}", chance.random() < 0.01
        pauses = [0] + [chance.randrange(5_000, 50_000) for _ in range(chance.randrange(3, 9) if is_stolen else 0)]
        for at_ms in accumulate(pauses, initial=made_ms):
            payment = Payment(chance.randrange(100, 30_000), chance.choice(("FR", "IT")) if is_stolen else "FR")
            late_ms = chance.randrange(int(LATENESS / MILLISECOND))
            arrivals.append((at_ms + late_ms, at_ms, card, payment if chance.random() > 0.01 else None))
    return sorted(arrivals[:count], key=lambda arrival: arrival[:3])


def owner_of(card: str) -> str:
    """Return the name of a card's owner."""
    return f"owner of {card}"


def publish(bootstrap_servers: str, arrivals: list[Arrival]) -> None:
    """Write the owners, then the payments."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "partitioner": "murmur2"})
    for number in range(CARDS):
        card = f"card-{number}"
        producer.produce(OWNERS, key=card, value=owner_of(card), timestamp=arrivals[0][1] - 60_000)
    for _, made_ms, card, payment in arrivals:
        value = b"{cents:" if payment is None else msgspec.json.encode(payment)
        producer.produce(PAYMENTS, key=card, value=value, timestamp=made_ms)
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()


def computed_plainly(arrivals: list[Arrival]) -> Alerts:
    """Find the suspicious sessions without Kafka."""
    sessions: dict[str, list[tuple[int, int, Burst]]] = {}
    for _, made_ms, card, payment in sorted(arrivals, key=lambda arrival: arrival[1]):
        if payment is None:
            continue
        known, burst = sessions.setdefault(card, []), first_of_burst(payment, owner_of(card))
        if known and made_ms - known[-1][1] <= GAP / MILLISECOND:
            start_ms, _, before = known.pop()
            known.append((start_ms, made_ms, before.merge(burst)))
        else:
            known.append((made_ms, made_ms, burst))
    return {
        Windowed(card, Window(start_ms, end_ms)): burst
        for card, bursts in sessions.items()
        for start_ms, end_ms, burst in bursts
        if burst.is_suspicious()
    }


def messages(bootstrap_servers: str, topic: str) -> Generator[Message]:
    """Read a topic from its beginning, until nothing has come for two minutes."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    with closing(Consumer({**settings, "enable.auto.commit": False})) as consumer:
        consumer.subscribe([topic])
        while (message := consumer.poll(TIMEOUT_SECONDS)) is not None:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            yield message


def read_alerts(bootstrap_servers: str, expected: Alerts) -> Alerts:
    """Read the alerts until they are as expected, or until nothing more comes."""
    key_of, value_of = SESSION.deserializer(ALERTS, is_key=True), BURST.deserializer(ALERTS, is_key=False)
    alerts: Alerts = {}
    with closing(messages(bootstrap_servers, ALERTS)) as read:
        for message in read:
            key, value = message.key() or b"", message.value()
            if value is None:
                alerts.pop(key_of(key, []), None)
            else:
                alerts[key_of(key, [])] = value_of(value, [])
            if alerts == expected:
                break
    return alerts


def read_bad(bootstrap_servers: str, expected: int) -> int:
    """Count the dead letters until there are as many as expected, or until nothing more comes."""
    with closing(messages(bootstrap_servers, BAD)) as read:
        return sum(1 for _ in islice(read, expected))


def find(bootstrap_servers: str, application_id: str, arrivals: list[Arrival]) -> tuple[Alerts, int]:
    """Publish the payments, run the application, and return the alerts and the number of dead letters."""
    publish(bootstrap_servers, arrivals)
    with KafkaStreams(
        build,
        application_id=application_id,
        bootstrap_servers=bootstrap_servers,
        deserialization_exception_handler=keep_bad_payments,
        errors_dead_letter_queue_topic_name=BAD,
    ) as application:
        application.wait_until_running(timeout=TIMEOUT_SECONDS)
        alerts = read_alerts(bootstrap_servers, computed_plainly(arrivals))
        return alerts, read_bad(bootstrap_servers, bad_of(arrivals))


def bad_of(arrivals: list[Arrival]) -> int:
    """Return the number of payments that are not valid."""
    return sum(payment is None for *_, payment in arrivals)


def make_topics(bootstrap_servers: str) -> None:
    """Create the topics that the application reads and writes."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, PARTITIONS) for name in TOPICS]).values():
        future.result()


def remove(bootstrap_servers: str, application_id: str) -> None:
    """Delete the topics and the group."""
    client = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in client.delete_topics(list(TOPICS)).values():
        future.result()
    with KafkaAdmin(bootstrap_servers=bootstrap_servers) as admin:
        admin.delete_streams_group_internal_topics(application_id)
        admin.delete_streams_groups([application_id])


def main() -> None:
    """Run the example and print some alerts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=20_000, help="number of payments (default: 20,000)")
    parser.add_argument("--bootstrap-servers", help="a Kafka, instead of an embedded broker")
    given = parser.parse_args()
    arrivals, application_id = made_up_payments(given.payments), f"fraud-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        servers = given.bootstrap_servers
        if servers is None:
            servers = stack.enter_context(EmbeddedCluster(settings=FAST_SETTINGS)).bootstrap_servers
        make_topics(servers)
        stack.callback(remove, servers, application_id)
        alerts, bad = find(servers, application_id, arrivals)
    for windowed, burst in sorted(alerts.items())[:10]:
        print(
            f"{windowed.key:<9}{burst.payments:>3} payments, {burst.cents / 100:>8,.2f} in {' '.join(burst.countries)}"
        )
    print(f"{len(alerts)} alerts, {bad} payments that are not valid")
    if (alerts, bad) != (computed_plainly(arrivals), bad_of(arrivals)):
        raise SystemExit("The application's alerts differ from those of the plain computation.")
    print("The application's alerts equal those of the plain computation.")


if __name__ == "__main__":
    main()
