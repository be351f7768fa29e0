"""A program with topologies, for tests of commands."""

__all__ = ["PROGRAM"]

PROGRAM = """
import re
from datetime import timedelta
from kafka_groups import serdes
from kafka_groups.streams import Processor, PunctuationType, StreamsBuilder, TimeWindows, Topology

OBJECTS = serdes.of(complex, lambda value: str(value).encode(), lambda data: complex(data.decode()))
STRINGS = {"key": serdes.string, "value": serdes.string}

def build() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("posts", **STRINGS).flat_map_values(str.split)
    words.group_by(lambda _, word: word, **STRINGS).count().to_stream().to("word-counts")
    return builder.build()

def matching():
    builder = StreamsBuilder()
    builder.stream(re.compile("posts.*"), **STRINGS).map_values(str.upper, value=serdes.string).to("loud")
    return builder.build()

def windows():
    builder = StreamsBuilder()
    grouped = builder.stream("posts", **STRINGS).group_by_key()
    grouped.windowed_by(TimeWindows(timedelta(seconds=1), grace=timedelta(0))).count().to_stream().to("counts")
    return builder.build()

def prices():
    builder = StreamsBuilder()
    prices = builder.table("prices", key=serdes.string, value=serdes.float64)
    orders = builder.stream("orders", key=serdes.string, value=serdes.int32)
    orders.join(prices, lambda amount, price: amount * price).to("totals", value=serdes.float64)
    return builder.build()

def lengths():
    builder = StreamsBuilder()
    posts = builder.stream("posts", **STRINGS)
    posts.map_values(len, value=serdes.int64).to(lambda key, value, context: f"of-{key}")
    return builder.build()

def objects_in():
    builder = StreamsBuilder()
    builder.stream("posts", key=serdes.string, value=OBJECTS).foreach(print)
    return builder.build()

def objects_out():
    builder = StreamsBuilder()
    builder.stream("posts", **STRINGS).map_values(complex, value=OBJECTS).to("numbers")
    return builder.build()

def two_serdes():
    builder = StreamsBuilder()
    posts = builder.stream("posts", **STRINGS)
    posts.to("copies")
    posts.to("copies", value=serdes.bytes_)
    return builder.build()

class Clock(Processor):
    def init(self, context):
        super().init(context)
        context.schedule(timedelta(seconds=10), PunctuationType.WALL_CLOCK_TIME, self.tick)
    def process(self, record):
        pass
    def tick(self, now_ms):
        from kafka_groups.streams import Record
        self.context.forward(Record("now", str(now_ms), now_ms))

def clock():
    builder = StreamsBuilder()
    builder.stream("posts", **STRINGS).process(factory=Clock).to("ticks", **STRINGS)
    return builder.build()

def empty():
    return Topology()
"""
