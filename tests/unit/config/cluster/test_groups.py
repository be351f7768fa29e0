import pytest

from kafka_groups.assignment import MemberAssignments, StickyGroupAssignor, StreamsGroupSpec, TopologyDescriber
from kafka_groups.config.cluster.broker import (
    BrokerSettings,
    ShareGroupConfig,
    broker_settings,
)
from kafka_groups.config.cluster.groups import share_group_config, streams_group_config, validate_group_config
from kafka_groups.config.cluster.streams_group import IN_MEMORY_DESCRIPTIONS
from kafka_groups.errors import InvalidConfigError

BOUNDS = {
    "share.session.timeout.ms": (45_000, 60_000),
    "share.heartbeat.interval.ms": (5_000, 15_000),
    "share.record.lock.duration.ms": (15_000, 60_000),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 4_000),
    "share.assignment.interval.ms": (0, 15_000),
}


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_group_value_stays_within_the_bounds_of_the_broker(name: str, bounds: tuple[int, int]) -> None:
    low, high = bounds
    settings = BrokerSettings()
    for value in (low, high):
        validate_group_config(settings, name, str(value))
    for value in (low - 1, high + 1):
        with pytest.raises(InvalidConfigError, match=name.replace(".", r"\.")):
            validate_group_config(settings, name, str(value))


def test_error_at_a_bound_names_the_bound_and_the_remedy() -> None:
    with pytest.raises(InvalidConfigError) as caught:
        validate_group_config(BrokerSettings(), "share.record.lock.duration.ms", "1500")
    assert str(caught.value) == (
        "Invalid value 1500 for share.record.lock.duration.ms: below 15000, the "
        "group.share.min.record.lock.duration.ms of the broker. Use 15000 to 60000, or change the broker's limit."
    )


def test_broker_bounds_can_be_moved() -> None:
    settings = broker_settings({"group.share.min.record.lock.duration.ms": "1000"})
    config = share_group_config(settings, {"share.record.lock.duration.ms": "1000"})
    assert config.record_lock_duration_ms == 1_000


def test_group_starts_from_the_defaults_of_the_broker() -> None:
    settings = broker_settings({"group.share.delivery.count.limit": 3, "group.share.assignment.interval.ms": 0})
    config = share_group_config(settings, {"share.isolation.level": "read_committed"})
    assert (config.delivery_count_limit, config.assignment_interval_ms) == (3, 0)
    assert config.isolation_level == "read_committed"


def test_session_must_be_longer_than_the_heartbeat_interval() -> None:
    settings = broker_settings({"group.share.min.session.timeout.ms": 1_000})
    with pytest.raises(InvalidConfigError, match="not longer than the heartbeat interval of 5000 ms"):
        validate_group_config(settings, "share.session.timeout.ms", "5000")
    with pytest.raises(InvalidConfigError, match="heartbeat interval of 10000 ms"):
        validate_group_config(settings, "share.session.timeout.ms", "9000", {"share.heartbeat.interval.ms": "10000"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share.auto.offset.reset", "none"),
        ("share.auto.offset.reset", "by_duration:-PT1S"),
        ("share.isolation.level", "serializable"),
        ("share.renew.acknowledge.enable", "yes"),
        ("share.delivery.count.limit", "2.5"),
        ("share.partition.max.record.locks", ""),
        ("share.session.timeout.ms", "99999999999"),
    ],
)
def test_bad_group_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        validate_group_config(BrokerSettings(), name, value)
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("name", ["share.record.lock", "session_timeout_ms", "group.share.session.timeout.ms", ""])
def test_unknown_group_key_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfigError, match=r"^Unknown configuration key .* for a group\."):
        validate_group_config(BrokerSettings(), name, "45000")


def test_unknown_group_key_suggests_the_nearest() -> None:
    with pytest.raises(InvalidConfigError, match=r"Did you mean 'share\.session\.timeout\.ms"):
        validate_group_config(BrokerSettings(), "share.sesion.timeout.ms", "45000")


def test_duration_of_the_offset_reset() -> None:
    config = share_group_config(BrokerSettings(), {"share.auto.offset.reset": "by_duration:P1DT1H"})
    assert config.auto_offset_reset_duration_ms == 25 * 3_600_000
    assert ShareGroupConfig().auto_offset_reset_duration_ms is None


class Nothing:
    """A task assignor of a user."""

    name = "nothing"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments({})


def test_task_assignors_are_names_objects_and_classes() -> None:
    mine = Nothing()
    for given, names in (
        ("sticky", ("sticky",)),
        (["sticky"], ("sticky",)),
        (mine, ("nothing",)),
        (Nothing, ("nothing",)),
        ((mine, "sticky"), ("nothing", "sticky")),
        ([StickyGroupAssignor(), Nothing], ("sticky", "nothing")),
    ):
        assert broker_settings({"group.streams.assignors": given}).streams_assignors.names == names
    assert broker_settings({"group.streams.assignors": [mine]}).streams_assignors.default is mine


@pytest.mark.parametrize("given", ["", "sticky,nothing", 7, ["sticky", "sticky"], [3]])
def test_what_is_not_a_task_assignor_is_refused(given: object) -> None:
    with pytest.raises(InvalidConfigError, match=r"^Invalid value for group\.streams\.assignors: .*\.$"):
        broker_settings({"group.streams.assignors": given})


def test_a_group_may_select_a_task_assignor_that_the_brokers_offer() -> None:
    settings = broker_settings({"group.streams.assignors": [Nothing, "sticky"]})
    assert streams_group_config(settings, {}).assignor_name == "nothing"
    assert streams_group_config(settings, {"streams.assignor.name": "sticky"}).assignor_name == "sticky"
    with pytest.raises(InvalidConfigError) as caught:
        validate_group_config(settings, "streams.assignor.name", "range")
    assert str(caught.value) == (
        "Invalid value 'range' for streams.assignor.name: the brokers do not offer this task assignor. Use nothing or "
        "sticky, or register yours in the brokers' group.streams.assignors."
    )


def test_descriptions_of_topologies_are_kept_by_kafkas_plugin_or_not_at_all() -> None:
    key = "group.streams.topology.description.plugin.class"
    assert broker_settings({}).streams_topology_description_plugin is None
    assert broker_settings({key: IN_MEMORY_DESCRIPTIONS}).streams_topology_description_plugin == IN_MEMORY_DESCRIPTIONS
    with pytest.raises(InvalidConfigError, match=r"'com\.acme\.Mine'.*InMemoryTopologyDescriptionPlugin"):
        broker_settings({key: "com.acme.Mine"})
