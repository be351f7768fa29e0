"""The rules for opening files that a process has left."""

from datetime import timedelta

import pytest
from attrs import evolve

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines.marks import Mark
from kafka_groups.streams.engines.opening_rules import layouts, reason_to_wipe
from kafka_groups.streams.state.stores import StoreDefinition

STORES = {"s": "KeyValue"}
MARK = Mark(boot_id="boot 1", stores=STORES)
HOUR = timedelta(hours=1)


def windows(name: str = "s", hours: int = 4, *, duplicates: bool = False) -> StoreDefinition:
    return stores.window(
        name, serdes.string, serdes.string, size=HOUR, retention=hours * HOUR, retain_duplicates=duplicates
    )


DIFFERENT = [
    stores.key_value("s", serdes.string, serdes.string),
    stores.timestamped_key_value("s", serdes.string, serdes.string),
    windows(),
    windows(hours=8),
    windows(duplicates=True),
    stores.session("s", serdes.string, serdes.string, retention=4 * HOUR),
    stores.session("s", serdes.string, serdes.string, retention=8 * HOUR),
    stores.versioned("s", serdes.string, serdes.string, history=4 * HOUR),
    stores.versioned("s", serdes.string, serdes.string, history=8 * HOUR),
]


def test_stores_that_cannot_read_each_others_files_have_different_layouts() -> None:
    assert len({layouts([each])["s"] for each in DIFFERENT}) == len(DIFFERENT)


def test_what_does_not_change_the_files_does_not_change_the_layout() -> None:
    first = stores.key_value("s", serdes.string, serdes.string)
    second = stores.key_value("s", serdes.int64, serdes.int64, changelog=False, persistent=True, caching=True)
    assert layouts([first]) == layouts([second])
    assert layouts([windows()])["s"].endswith("segments of 7200000 ms")


@pytest.mark.parametrize(
    "mark",
    [
        MARK,
        evolve(MARK, is_clean=True),
        evolve(MARK, is_clean=True, boot_id="boot 0"),
        evolve(MARK, is_clean=True, openings=9),
        evolve(MARK, openings=0),
        evolve(MARK, stores={}),
        evolve(MARK, stores={**STORES, "gone": "Window"}),
    ],
)
def test_files_that_may_be_opened(mark: Mark) -> None:
    assert reason_to_wipe(mark, STORES, "boot 1") is None


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (evolve(MARK, boot_id="boot 0"), "they were open when the machine stopped, or were moved here"),
        (evolve(MARK, is_damaged=True), "was ended by damage in them"),
        (evolve(MARK, is_damaged=True, is_clean=True), "was ended by damage in them"),
        (evolve(MARK, openings=2), "they were opened 2 times without a commit"),
        (evolve(MARK, format=2), "they have format 2 of lmdb, and this release has format 1 of lmdb"),
        (evolve(MARK, engine="rocksdb"), "they have format 1 of rocksdb"),
        (
            evolve(MARK, stores={"s": "Session, segments of 60000 ms"}, is_clean=True),
            "store 's' was a store of another kind: Session, segments of 60000 ms. Now it is: KeyValue",
        ),
    ],
)
def test_files_that_must_not_be_opened(mark: Mark, why: str) -> None:
    assert why in (reason_to_wipe(mark, STORES, "boot 1") or "")
