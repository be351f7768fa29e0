"""Foreign-key joins of tables, as the DSL writes them."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.serdes.serde import BoundDeserializer
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, Slot
from kafka_groups.streams.dsl.lazy_store import LazyStore
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.stores import KeyValueDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Partitioner, SinkNode, SourceNode

__all__ = ["ForeignKeyJoin", "check_no_partitioners", "join_by_foreign_key"]


@frozen(kw_only=True)
class ForeignKeyJoin:
    """The functions and options of a foreign-key join.

    Attributes:
        on: The foreign key from key and value of a left row.
        joiner: Combines key, left value and right value.
        keeps_unmatched: Whether left rows without a right row have results.
        value: The serde of the results.
        options: Those of the result's store.
        name: The prefix of its names, or None.
        partitioners: The partitioners of this table's keys and of the other's; None is the default one.
    """

    on: Callable[[Any, Any], Any]
    joiner: Callable[[Any, Any, Any], Any]
    keeps_unmatched: bool
    value: Slot
    options: StoreOptions
    name: str | None
    partitioners: tuple[Partitioner | None, Partitioner | None] = (None, None)

    @property
    def word(self) -> str:
        """The operator's name in messages."""
        return "left_join" if self.keeps_unmatched else "join"


@frozen(kw_only=True)
class _Names:
    """The names of a join's nodes, topics and store, in the order of their generated names."""

    subscriptions: str
    subscribe: str
    subscription_sink: str
    subscription_source: str
    store: str
    keep: str
    look_up: str
    answer: str
    responses: str
    response_sink: str
    response_source: str
    resolve: str
    result: str


_PREFIX = "KTABLE-FK-JOIN-"
_PATTERNS = {
    # attribute: (prefix and suffix of the generated name, suffix after a given name)
    "subscriptions": (f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "-topic", "subscription-registration-topic"),
    "subscribe": (f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "", "subscription-registration-processor"),
    "subscription_sink": ("KTABLE-SINK-", "", "subscription-registration-sink"),
    "subscription_source": ("KTABLE-SOURCE-", "", "subscription-registration-source"),
    "store": (f"{_PREFIX}SUBSCRIPTION-STATE-STORE-", "", "subscription-store"),
    "keep": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "subscription-receive"),
    "look_up": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "subscription-join-foreign"),
    "answer": (f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "", "foreign-join-subscription"),
    "responses": (f"{_PREFIX}SUBSCRIPTION-RESPONSE-", "-topic", "subscription-response-topic"),
    "response_sink": ("KTABLE-SINK-", "", "subscription-response-sink"),
    "response_source": ("KTABLE-SOURCE-", "", "subscription-response-source"),
    "resolve": (f"{_PREFIX}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-", "", "subscription-response-resolver"),
    "result": (f"{_PREFIX}OUTPUT-", "", "result"),
}


def _names(graph: Graph, name: str | None) -> _Names:
    found = {}
    for attribute, (prefix, suffix, given) in _PATTERNS.items():
        # All indices are taken also if there is a name. Their order is that of KTableImpl.doJoinOnForeignKey in Kafka.
        generated = graph.new_name(prefix) + suffix
        found[attribute] = generated if name is None else f"{name}-{given}"
    return _Names(**found)


def check_no_partitioners(word: str, partitioners: tuple[Partitioner | None, Partitioner | None]) -> None:
    """Refuse partitioners for a join by primary keys, whose tables must be partitioned alike.

    Raises:
        TypeError: There is one.
    """
    for name, partitioner in zip(("partitioner", "other_partitioner"), partitioners, strict=True):
        if partitioner is not None:
            raise TypeError(f"{word}: {name}= is for joins by a foreign key. Give on=, too, or leave it out.")


def join_by_foreign_key(left: TableParts, right: TableParts, join: ForeignKeyJoin) -> TableParts:
    """Add a foreign-key join, and return the table of its results."""
    primary, foreign = join.partitioners
    check_functions(join.word, on=join.on, partitioner=primary, other_partitioner=foreign)
    graph = left.graph
    names = _names(graph, join.name)
    # The old row says from which foreign key to unsubscribe.
    left.send_old_values(force=True)
    result = processors.TableMerge()
    kept = _result_store(graph, left.key, join, result)
    row: Serde[Any] = graph.need(right.value, join.word)
    writer = _JoinWriter(
        names=names,
        join=join,
        views=(left.view(), right.view()),
        sources=(left.sources, right.sources),
        are_versioned=(left.history_ms is not None, right.history_ms is not None),
        wire=processors.WireSerdes(
            topic=names.subscriptions,
            primary=graph.need(left.key, join.word),
            foreign=graph.need(right.key, join.word),
            value=graph.need(left.value, join.word),
        ),
        responses=processors.SubscriptionResponseSerde("response of a foreign-key join", is_immutable=False, value=row),
        result=result,
        kept=kept,
    )
    node = graph.add(names.result, writer.write, left.node, right.node)
    definition = kept.definition
    slots = (left.key, join.value if definition is None else definition.value)
    return kept.parts(graph, node, left.sources | {names.response_source}, slots)


def _result_store(graph: Graph, key: Slot, join: ForeignKeyJoin, result: "processors.TableMerge") -> LazyStore:
    is_named = join.options.store is not None
    # The last index is taken also if the table never gets a store.
    default_name = "" if is_named else graph.new_store_name(f"{_PREFIX}OUTPUT-")
    kept = LazyStore(result, lambda: key_value_store(graph, join.word, join.options, default_name, (key, join.value)))
    # A name is there to query the store, so it has to exist.
    if is_named:
        kept.open()
    return kept


@frozen(kw_only=True)
class _JoinWriter:
    """Writes the nodes of a join: those in the left table's sub-topology, and those in the right table's."""

    names: _Names
    join: ForeignKeyJoin
    views: tuple[TableView, TableView]
    sources: tuple[frozenset[str], frozenset[str]]
    are_versioned: tuple[bool, bool]
    wire: "processors.WireSerdes"
    responses: "processors.SubscriptionResponseSerde"
    result: "processors.TableMerge"
    kept: LazyStore

    def write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        """Add all nodes."""
        left, right = parents
        self._subscribe(topology, left)
        self._answer(topology, right)
        self._join(topology)
        # Responses go to the tasks of the left table's rows, and subscriptions to those of the right table's. The two
        # tables need not have the same number of partitions (KTableImpl.doJoinOnForeignKey).
        topology.copartition(self.sources[0] | {self.names.response_source})
        topology.copartition(self.sources[1] | {self.names.subscription_source})

    def _subscribe(self, topology: NodeGraph, left: str) -> None:
        names = self.names
        topology.add_operator(
            names.subscribe,
            processors.Subscribe(self.join.on, self.wire, self.join.keeps_unmatched, self.are_versioned[0]),
            [left],
        )
        topology.add_repartition_topic(names.subscriptions, None)
        topology.add_node(
            SinkNode(
                name=names.subscription_sink,
                parents=(names.subscribe,),
                topic=names.subscriptions,
                key=serdes.bytes_,
                value=processors.SUBSCRIPTION,
                partitioner=self._partitioner_of(1),
            )
        )

    def _partitioner_of(self, side: int) -> "_KeyPartitioner | None":
        """Return the partitioner of one table's keys, if the program gave one."""
        partitioner, names = self.join.partitioners[side], self.names
        if partitioner is None:
            return None
        if side == 0:
            return _KeyPartitioner(partitioner, self.wire.primary, names.responses, f"{names.subscriptions}-pk")
        return _KeyPartitioner(partitioner, self.wire.foreign, names.subscriptions, f"{names.subscriptions}-fk")

    def _answer(self, topology: NodeGraph, right: str) -> None:
        names, view = self.names, self.views[1]
        topology.add_node(
            SourceNode(
                name=names.subscription_source,
                topics=(names.subscriptions,),
                key=serdes.bytes_,
                value=processors.SUBSCRIPTION,
            )
        )
        topology.add_operator(names.keep, processors.KeepSubscriptions(names.store), [names.subscription_source])
        topology.add_operator(names.look_up, processors.LookUpForeignRow(view, self.wire), [names.keep], view.stores)
        answering = processors.AnswerSubscribers(names.store, self.wire, self.are_versioned[1])
        topology.add_operator(names.answer, answering, [right])
        topology.add_state_store(_subscription_store(names.store), names.keep, names.answer)
        topology.add_repartition_topic(names.responses, None)
        topology.add_node(
            SinkNode(
                name=names.response_sink,
                parents=(names.look_up, names.answer),
                topic=names.responses,
                key=serdes.bytes_,
                value=self.responses,
                # A response goes back to the partition that the subscription came from, whatever partitioner wrote the
                # left table's topic (KTableImpl.DefaultForeignResponseSinkPartitioner in Kafka).
                partitioner=self._partitioner_of(0) or _partition_of_left_row,
            )
        )

    def _join(self, topology: NodeGraph) -> None:
        names, view, join = self.names, self.views[0], self.join
        topology.add_node(
            SourceNode(
                name=names.response_source, topics=(names.responses,), key=self.wire.primary, value=self.responses
            )
        )
        resolver = processors.JoinResponses(view, self.wire, join.joiner, join.keeps_unmatched)
        topology.add_operator(names.resolve, resolver, [names.response_source], view.stores)
        topology.add_operator(names.result, self.result, [names.resolve])
        if self.kept.definition is not None:
            topology.add_state_store(self.kept.definition, names.result)


class _KeyPartitioner:
    """Asks a program's partitioner about the key of a table, which the topics of a join have as bytes.

    As in Java's `KTableImpl`, it gets no value, because neither topic has that of the table.

    Args:
        partitioner: The program's.
        serde: The serde of the keys.
        topic: The topic that it is asked about, without the application's prefix.
        serde_topic: The topic by which the serde reads, in the same way.
    """

    def __init__(self, partitioner: Partitioner, serde: Serde[Any], topic: str, serde_topic: str) -> None:
        self._partitioner = partitioner
        self._serde = serde
        self._topics = topic, serde_topic
        self._readers: dict[str, BoundDeserializer[Any]] = {}

    def __call__(self, topic: str, key: bytes | None, _value: object, partitions: int) -> int | None:
        """Return the partition, or None for the default partitioner's."""
        chosen = self._partitioner(topic, None if key is None else self._reader(topic)(key, ()), None, partitions)
        if chosen is None or isinstance(chosen, int):
            return chosen
        # A key that is in several partitions has no one place for its rows; Java refuses that, too
        # (KTableImpl.doJoinOnForeignKey).
        if len(chosen) != 1:
            raise ValueError(
                f"The partitioner of a foreign-key join returned {chosen!r} for topic {topic!r}. Return one partition."
            )
        return chosen[0]

    def _reader(self, topic: str) -> BoundDeserializer[Any]:
        if topic not in self._readers:
            own, serde_topic = self._topics
            named = topic.removesuffix(own) + serde_topic
            self._readers[topic] = self._serde.deserializer(named, is_key=True)
        return self._readers[topic]


def _subscription_store(name: str) -> KeyValueDefinition[Any, Any]:
    return KeyValueDefinition(
        # The store is not cached, so that a change of the right table finds every subscription in it.
        name=name,
        key=serdes.bytes_,
        value=processors.SUBSCRIPTION,
        timestamped=True,
        caching=False,
    )


def _partition_of_left_row(
    _topic: str, _key: Any, response: "processors.SubscriptionResponse", _partitions: int
) -> int | None:
    return response.partition
