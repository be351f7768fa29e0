"""Which levels of features are possible, and that brokers know of new ones."""

import random

import pytest

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.features import FeatureRules, FeatureUpdate, UpdateKind, updated_levels
from kafka_groups.errors import InvalidUpdateVersionError
from kafka_groups.protocol.apis import VersionRange

RULES = FeatureRules(
    {
        "group.version": VersionRange(0, 1),
        "kraft.version": VersionRange(0, 1),
        "metadata.version": VersionRange(7, 29),
        "transaction.version": VersionRange(0, 2),
    },
    lowest_metadata_level=23,
    controller_id=3,
)
CURRENT = {"group.version": 1, "kraft.version": 1, "metadata.version": 29, "transaction.version": 1}
UP, SAFE, UNSAFE = UpdateKind


def levels(*updates: tuple[str, int, int]) -> dict[str, int]:
    return updated_levels([FeatureUpdate(*update) for update in updates], CURRENT, RULES)


@pytest.mark.parametrize(
    "update",
    [
        ("transaction.version", 2, UP),
        ("transaction.version", 1, UP),
        ("transaction.version", 1, SAFE),
        ("transaction.version", 0, SAFE),
        ("group.version", 0, UNSAFE),
        ("kraft.version", 1, UNSAFE),
        ("metadata.version", 23, SAFE),
        ("metadata.version", 23, UNSAFE),
        ("metadata.version", 29, UP),
    ],
)
def test_a_possible_level(update: tuple[str, int, int]) -> None:
    assert levels(update) == {update[0]: update[1]}


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (("transaction.version", 1, 0), "does not support the given upgrade type"),
        (("transaction.version", -1, 4), "does not support the given upgrade type"),
        (("transaction.version", -1, UP), "cannot be less than 0"),
        (("transaction.version", 3, UP), "Local controller 3 only supports versions 0-2"),
        (("transaction.version", 0, UP), "Can't downgrade the version of this feature without"),
        (("transaction.version", 2, SAFE), "Can't downgrade to a newer version"),
        (("kraft.version", 0, UNSAFE), "Can't downgrade the version of this feature."),
        (("metadata.version", 6, SAFE), "only supports versions 7-29"),
        (("metadata.version", 22, SAFE), "from 29 to 22. Refusing"),
        (("metadata.version", 22, UNSAFE), "from 29 to 22. Unsafe"),
        (("other", 1, UP), "does not support this feature"),
        (("other", 0, UP), "Feature other not found"),
    ],
)
def test_an_impossible_level(update: tuple[str, int, int], why: str) -> None:
    with pytest.raises(InvalidUpdateVersionError, match=why):
        levels(("group.version", 0, SAFE), update)


def test_the_last_update_of_a_feature_counts() -> None:
    assert levels(("group.version", 9, UP), ("group.version", 0, SAFE)) == {"group.version": 0}


def test_of_several_errors_one_is_told() -> None:
    for updates in ([("other", 1, UP), ("metadata.version", 1, UP)], [("metadata.version", 1, UP), ("other", 1, UP)]):
        with pytest.raises(InvalidUpdateVersionError, match="for feature metadata"):
            levels(*updates)


def test_listeners_hear_of_features_that_have_another_level() -> None:
    metadata = ClusterMetadata(random.Random(1), features={"group.version": 1, "share.version": 1})
    deltas: list[MetadataDelta] = []
    metadata.on_change(lambda _, delta: deltas.append(delta))
    old = metadata.image

    metadata.finalize_features({"group.version": 1, "share.version": 0})
    metadata.finalize_features({"group.version": 1})

    assert [delta.features for delta in deltas] == [("share.version",)]
    assert (old.features["share.version"], metadata.features) == (1, {"group.version": 1, "share.version": 0})
