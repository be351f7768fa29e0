"""The key `task.assignor.class`: what it takes, what it refuses, and what `configure` gets."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    LegacyStickyTaskAssignor,
    Registered,
    StickyGroupAssignor,
    StickyTaskAssignor,
    TaskAssignment,
    TaskAssignor,
)
from kafka_groups.config.clients.streams import streams_config
from kafka_groups.errors import ConfigurationError

CLASSIC = {"bootstrap.servers": "k:9092", "application.id": "app", "group.protocol": "classic"}
JAVA = "org.apache.kafka.streams.processor"


class Noting(TaskAssignor):
    """Notes how often it is made, and what it is configured with."""

    made = 0
    heard: ClassVar[list[Mapping[str, object]]] = []

    def __init__(self) -> None:
        type(self).made += 1

    def configure(self, configs: Mapping[str, object]) -> None:
        self.heard.append(configs)

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def forgotten() -> None:
    Noting.made = 0
    Noting.heard.clear()


def by_function(_state: ApplicationState) -> TaskAssignment:
    raise NotImplementedError


NOTING = Noting()


def chosen(value: object, **keys: object) -> Registered:
    found = streams_config(CLASSIC, task_assignor_class=value, **keys).task_assignor_class
    assert isinstance(found, Registered)
    return found


@pytest.mark.parametrize(
    ("value", "assignor", "name"),
    [
        (Noting, Noting, f"{__name__}:Noting"),
        (NOTING, NOTING, f"{__name__}:Noting"),
        (by_function, by_function, f"{__name__}:by_function"),
        (f" {__name__}:Noting ", Noting, f"{__name__}:Noting"),
        (f"{__name__}:NOTING", NOTING, f"{__name__}:NOTING"),
        (f"{__name__}:by_function", by_function, f"{__name__}:by_function"),
        ("highly_available", HighAvailabilityTaskAssignor, "HighAvailabilityTaskAssignor"),
        ("HighAvailabilityTaskAssignor", HighAvailabilityTaskAssignor, "HighAvailabilityTaskAssignor"),
        ("StickyTaskAssignor", StickyTaskAssignor, "StickyTaskAssignor"),
        ("LegacyStickyTaskAssignor", LegacyStickyTaskAssignor, "LegacyStickyTaskAssignor"),
        ("FallbackPriorTaskAssignor", FallbackPriorTaskAssignor, "FallbackPriorTaskAssignor"),
        (StickyTaskAssignor, StickyTaskAssignor, "StickyTaskAssignor"),
    ],
)
def test_it_takes_classes_objects_functions_places_and_names(value: object, assignor: object, name: str) -> None:
    found = chosen(value)
    assert found.assignor is assignor
    assert found.name == name


def test_a_function_with_bound_arguments_is_named_by_its_function() -> None:
    def bound(_weight: int, _state: ApplicationState) -> TaskAssignment:
        raise NotImplementedError

    assert chosen(partial(bound, 3)).name.endswith(":test_a_function_with_bound_arguments_is_named_by_its_function."
                                                   "<locals>.bound")  # fmt: skip


def test_it_is_made_and_configured_once_and_a_class_anew_for_each_assignment() -> None:
    found = chosen(Noting)
    assert (Noting.made, len(Noting.heard)) == (1, 1)
    assert found.new_assignor() is not found.new_assignor()
    assert (Noting.made, len(Noting.heard)) == (3, 3)


def test_an_object_is_configured_once() -> None:
    found = chosen(NOTING)
    assert found.new_assignor() is found.new_assignor() is NOTING
    assert len(Noting.heard) == 1


def test_a_configuration_with_other_mistakes_makes_no_assignor() -> None:
    with pytest.raises(ConfigurationError, match=r"max\.warmup\.replicas"):
        chosen(Noting, max_warmup_replicas=0)
    assert Noting.made == 0


def test_configure_gets_all_keys_by_their_dotted_names_and_no_secret() -> None:
    streams_config(
        {
            **CLASSIC, "client.tag.zone": "a", "topic.min.insync.replicas": 2, "task.assignor.class": Noting,
            "main.consumer.fetch.min.bytes": "7", "cache.max.bytes.buffering": 8,
        },
        num_standby_replicas="1", sasl_username="ann", sasl_password="pa", sasl_mechanism="PLAIN",
        security_protocol="SASL_PLAINTEXT", producer={"linger.ms": 5, "some.password": "pb"},
        sasl_oauthbearer_token_endpoint_url=None, state_dir="file://ann:pc@host/x",
    )  # fmt: skip
    [heard] = Noting.heard
    assert dict(heard) == {
        **CLASSIC,
        "client.tags": {"zone": "a"},
        "topic.min.insync.replicas": 2,
        "task.assignor.class": Noting,
        "main.consumer.fetch.min.bytes": "7",
        "statestore.cache.max.bytes": 8,
        "num.standby.replicas": "1",
        "sasl.username": "ann",
        "sasl.password": "(hidden)",
        "sasl.mechanism": "PLAIN",
        "security.protocol": "SASL_PLAINTEXT",
        "producer.linger.ms": 5,
        "producer.some.password": "(hidden)",
        "sasl.oauthbearer.token.endpoint.url": None,
        "state.dir": "file://(hidden)@host/x",
    }


def test_the_configuration_of_a_login_in_java_is_hidden() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="pa";'
    streams_config(
        {**CLASSIC, "sasl.jaas.config": login, "sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"},
        task_assignor_class=Noting,
    )
    assert Noting.heard[0]["sasl.jaas.config"] == "(hidden)"


# ------------------------------------------------------------------------------------------------------ refusals


class Asynchronous(Noting):
    async def assign(self, application_state: ApplicationState) -> TaskAssignment:  # type: ignore[override]
        raise NotImplementedError


class Wide(Noting):
    def assign(self, application_state: ApplicationState, more: int) -> TaskAssignment:  # type: ignore[override]
        raise NotImplementedError


class Unfinished(TaskAssignor):
    pass


class Needing(Noting):
    def __init__(self, zone: str) -> None:
        self.zone = zone


class Refusing(Noting):
    def configure(self, configs: Mapping[str, object]) -> None:
        raise ValueError("no zone")


class Alike:
    """Has the method, but is not a subclass."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        raise NotImplementedError


class ByMember:
    name = "mine"

    def assign(self, group: object, topology: object) -> object:
        raise NotImplementedError


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


async def waits(_state: ApplicationState) -> TaskAssignment:
    raise NotImplementedError


def yields(_state: ApplicationState) -> Iterator[TaskAssignment]:
    yield TaskAssignment([])


def takes_two(_one: object, _two: object) -> TaskAssignment:
    raise NotImplementedError


BY_MEMBER = "it assigns tasks to members (KIP-1357), and such assignors run in brokers. Use one that assigns them to"
YOUR_OWN = "it is not a TaskAssignor. Use a subclass of TaskAssignor, an object of one, a function that takes"
ORDINARY = "Make it an ordinary function that returns a TaskAssignment."
MAKE = "Give task.assignor.class a class that can be called without arguments, or an object, whose configure accepts"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("nowhere:X", "Could not import the task assignor 'nowhere:X': ModuleNotFoundError: No module named "),
        (f"{__name__}:X", f"Could not import the task assignor '{__name__}:X': AttributeError: "),
        ("nowhere:", "'nowhere:' is not the place of a task assignor. Give module:Class."),
        (f"{__name__}:CLASSIC", f"Invalid value '{__name__}:CLASSIC' for task.assignor.class: {YOUR_OWN}"),
        ("sticky", f"Invalid value 'sticky' for task.assignor.class: {BY_MEMBER} processes, such as Sticky"),
        (ByMember, BY_MEMBER),
        (ByMember(), BY_MEMBER),
        (StickyGroupAssignor, BY_MEMBER),
        (StickyGroupAssignor(), f"Invalid value StickyGroupAssignor() for task.assignor.class: {BY_MEMBER}"),
        (f"{JAVA}.assignment.assignors.StickyTaskAssignor", "is a class of Java. In Python the name is StickyTask"),
        (f"{JAVA}.internals.assignment.StickyTaskAssignor", "In Python the name is LegacyStickyTaskAssignor."),
        (f"{JAVA}.internals.assignment.LegacyStickyTaskAssignor", "In Python the name is LegacyStickyTaskAssignor."),
        (
            f"{JAVA}.internals.assignment.HighAvailabilityTaskAssignor",
            ".HighAvailabilityTaskAssignor' for task.assignor.class: it is a class of Java. In Python the name is High",
        ),
        (f"{JAVA}.internals.assignment.FallbackPriorTaskAssignor", "In Python the name is FallbackPriorTaskAssignor."),
        ("org.acme.Racks$ByZone", "it is a class of Java. Write it in Python, as a subclass of TaskAssignor, and give"),
        ("my_module.MyAssignor", "Did you mean 'my_module:MyAssignor'? Use HighAvailabilityTaskAssignor, Sticky"),
        ("StickyTaskAsignor", "has this name. Did you mean 'StickyTaskAssignor' or 'LegacyStickyTaskAssignor'? Use "),
        ("", "Invalid value '' for task.assignor.class: no task assignor of Kafka Streams has this name. Use High"),
        (Asynchronous, f"it is declared with async def. {ORDINARY}"),
        (Asynchronous(), f"it is declared with async def. {ORDINARY}"),
        (waits, f"it is declared with async def. {ORDINARY}"),
        (yields, f"it is a generator function (it contains yield). {ORDINARY}"),
        (takes_two, "it cannot be called with an ApplicationState (missing a required argument: '_two'). Let it take"),
        (Wide, "it cannot be called with an ApplicationState (missing a required argument: 'more')."),
        (Unfinished, f"Could not create or configure the task assignor '{__name__}:Unfinished': TypeError: Can't"),
        (Needing, f"'{__name__}:Needing': TypeError: Needing.__init__() missing 1 required positional argument: 'zo"),
        (Refusing, f"configure the task assignor '{__name__}:Refusing': ValueError: no zone. {MAKE} the keys of the"),
        (Refusing(), f"configure the task assignor '{__name__}:Refusing': ValueError: no zone. {MAKE}"),
        (f"{__name__}:Refusing", f"configure the task assignor '{__name__}:Refusing': ValueError: no zone. {MAKE}"),
        (Alike, YOUR_OWN),
        (Alike(), YOUR_OWN),
        (dict, YOUR_OWN),
        (3, f"Invalid value 3 for task.assignor.class: {YOUR_OWN}"),
        (Unprintable(), f"<Unprintable, whose repr() raises RuntimeError> for task.assignor.class: {YOUR_OWN}"),
        (Registered(by_function), "it is a registration for brokers. Give the assignor itself."),
    ],
)  # fmt: skip
def test_mistakes_are_told_when_the_application_is_configured(value: object, text: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        chosen(value)


def test_a_mistake_in_the_program_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for value in (Refusing, f"{__name__}:Refusing"):
        with pytest.raises(
            ConfigurationError, match=rf'keys of the application\. File "{__file__}", line \d+, in conf'
        ):
            chosen(value)
    (tmp_path / "unfinished_module.py").write_text("def f():\n    return 1 / 0\nf()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r'ZeroDivisionError: .*unfinished_module.py", line 2, in f\.$'):
        chosen("unfinished_module:f")
    for other in (Needing, "nowhere:X", f"{__name__}:X"):
        with pytest.raises(ConfigurationError) as raised:
            chosen(other)
        assert "File" not in str(raised.value)


def test_a_module_that_ends_the_program_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ends_the_program.py").write_text("raise SystemExit('no rack')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"Could not import .*: SystemExit: no rack"):
        chosen("ends_the_program:X")


def test_mistakes_are_told_with_those_of_other_keys() -> None:
    with pytest.raises(ConfigurationError, match="2 problems") as raised:
        chosen("sticky", max_warmup_replicas=0)
    assert BY_MEMBER in str(raised.value)


def test_streams_groups_refuse_the_key_and_import_nothing() -> None:
    with pytest.raises(ConfigurationError, match=re.escape("group configuration streams.assignor.name")) as raised:
        streams_config({**CLASSIC, "group.protocol": "streams"}, task_assignor_class="nowhere:X")
    assert "import" not in str(raised.value)
