"""What transactional producers did and were told, and what readers may see of it."""

from collections.abc import Iterator

from attrs import define, field

from kafka_groups.broker.log.entries import Producer

__all__ = ["Book", "Entry", "value_of"]


def value_of(name: str, number: int, index: int) -> bytes:
    """The value of a record: whose it is, in which transaction, and which one."""
    return f"{name}/{number}/{index}".encode()


@define(eq=False)
class Entry:
    """A transaction.

    Attributes:
        name: The transactional id.
        number: Its number among those of the id.
        sent: The values that were acknowledged, by partition.
        offset: The offset that it commits for the group of the id, if that was acknowledged.
        is_asked_for: Whether its commit was asked for.
        is_committed: Whether the commit was confirmed, or the opposite. None: nobody was told.
    """

    name: str
    number: int
    sent: dict[int, list[bytes]] = field(factory=dict)
    offset: int | None = None
    is_asked_for: bool = False
    is_committed: bool | None = None

    def is_shown(self, found: dict[int, list[bytes]]) -> Iterator[bool]:
        """Whether readers found each of its records."""
        return (value in found[partition] for partition, values in self.sent.items() for value in values)


@define(eq=False)
class Book:
    """All transactions of a run, and the lives of the producers.

    Attributes:
        violations: What must not be.
        entries: The transactions by transactional id, in order.
        newest: The newest producer that a life of each id was given.
    """

    violations: list[str]
    entries: dict[str, list[Entry]] = field(factory=dict)
    newest: dict[str, Producer] = field(factory=dict)

    def born(self, name: str, producer: Producer) -> None:
        """A life has got its epoch. Those with an older one are fenced from now on; the answer may have come late."""
        self.newest[name] = max(self.newest.get(name, producer), producer, key=_age)

    def is_fenced(self, name: str, producer: Producer) -> bool:
        """Whether a life that began with this epoch is known to be fenced."""
        return _age(producer) < _age(self.newest[name])

    def begin(self, name: str) -> Entry:
        """A transaction begins."""
        entries = self.entries.setdefault(name, [])
        entries.append(Entry(name, len(entries)))
        return entries[-1]

    def entry_of(self, value: bytes) -> Entry:
        """The transaction of a record."""
        name, number, _ = value.decode().split("/")
        return self.entries[name][int(number)]

    # --------------------------------------------------------------------------------------- what is seen

    def seen(self, value: bytes) -> None:
        """A reader of committed records has got one."""
        if not self.entry_of(value).is_asked_for:
            self.violations.append(f"{value.decode()} was read, and nobody asked to commit it")

    def offset_seen(self, name: str, offset: int) -> None:
        """The group of an id has this offset."""
        if offset >= 0 and not self.entries[name][offset].is_asked_for:
            self.violations.append(f"the group of {name} has offset {offset}, and nobody asked to commit it")

    # ------------------------------------------------------------------------------------------ the verdict

    def verdict(self, found: dict[int, list[bytes]], offsets: dict[str, int]) -> Iterator[str]:
        """What is wrong with the committed records by partition, and with the offsets of the groups by id."""
        for partition, values in found.items():
            yield from self._out_of_order(partition, values)
        for name, entries in self.entries.items():
            for entry in entries:
                yield from self._wrong(entry, found)
            yield from self._wrong_offset(name, found, offsets[name])

    def _out_of_order(self, partition: int, values: list[bytes]) -> Iterator[str]:
        for name in self.entries:
            own = [tuple(map(int, value.decode().split("/")[1:])) for value in values if _is_of(name, value)]
            if own != sorted(set(own)):
                yield f"partition {partition} has records of {name} twice or out of order: {own}"

    def _wrong(self, entry: Entry, found: dict[int, list[bytes]]) -> Iterator[str]:
        shown, what = set(entry.is_shown(found)), f"transaction {entry.name}/{entry.number}"
        if len(shown) > 1:
            yield f"{what} was read in part"
        if entry.is_committed and False in shown:
            yield f"{what} was committed, and is not read"
        if True in shown and (entry.is_committed is False or not entry.is_asked_for):
            yield f"{what} was not committed, and is read"

    def _wrong_offset(self, name: str, found: dict[int, list[bytes]], offset: int) -> Iterator[str]:
        wanted = [each.offset for each in self.entries[name] if each.offset is not None and any(each.is_shown(found))]
        if offset != (wanted or [-1])[-1]:
            yield f"the group of {name} has offset {offset}, and its last committed transaction had {wanted[-1:]}"


def _age(producer: Producer) -> tuple[int, int]:
    return producer.producer_id, producer.epoch


def _is_of(name: str, value: bytes) -> bool:
    return value.startswith(f"{name}/".encode())
