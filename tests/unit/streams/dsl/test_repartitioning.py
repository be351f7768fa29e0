"""Repartition topics."""

from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, TopologyError


@pytest.mark.parametrize(("partitions", "error"), [(0, TopologyError), (-1, TopologyError), (2**31, TopologyError),
                                                   (1.5, TypeError), (True, TypeError), ("4", TypeError)])  # fmt: skip
def test_repartition_takes_a_number_of_partitions(partitions: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"^repartition: partitions={partitions!r} is not .*eave it out"):
        StreamsBuilder().stream("in", key=serdes.string, value=serdes.string).repartition(partitions=partitions)
