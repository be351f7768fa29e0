import pytest
from attrs import frozen

from kafka_groups.assignment import (
    ApplicationState,
    GroupTaskAssignor,
    MemberAssignments,
    Registered,
    StickyGroupAssignor,
    StreamsGroupSpec,
    TaskAssignment,
    TaskAssignor,
    TaskAssignors,
    TopologyDescriber,
)
from kafka_groups.errors import ConfigurationError


@frozen
class Nothing:
    """An assignor of a user."""

    name: str = "nothing"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments({})


MINE: GroupTaskAssignor = Nothing()


def test_sticky_is_registered_unless_said_otherwise() -> None:
    assert TaskAssignors().names == ("sticky",)
    assert TaskAssignors().default == StickyGroupAssignor()


def test_the_first_entry_is_the_default() -> None:
    registered = TaskAssignors.of([MINE, "sticky"])
    assert registered.names == ("nothing", "sticky")
    assert registered.default is MINE
    assert registered.named("sticky") == StickyGroupAssignor()
    assert registered.named("nothing") is MINE


def test_an_assignor_that_is_not_registered_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"'stiky'\. Registered assignors: nothing, sticky\."):
        TaskAssignors.of([MINE, "sticky"]).named("stiky")


def test_a_name_that_is_not_built_in_is_refused() -> None:
    known = r"'nothing'\. Built-in names: sticky, highly_available\..*pass the object"
    with pytest.raises(ConfigurationError, match=known):
        TaskAssignors.of(["sticky", "nothing"])


def test_names_must_differ() -> None:
    with pytest.raises(ConfigurationError, match="Two task assignors have the name 'sticky'"):
        TaskAssignors.of(["sticky", Nothing("sticky")])


def test_there_must_be_an_assignor() -> None:
    with pytest.raises(ConfigurationError, match="There are no task assignors"):
        TaskAssignors.of([])


def test_a_class_is_made_an_assignor() -> None:
    registered = TaskAssignors.of([Nothing, "sticky"])
    assert registered == TaskAssignors.of([Nothing(), "sticky"])
    assert str(registered) == "nothing,sticky"


class Nameless:
    name = ""

    def assign(self) -> None:
        raise AssertionError


class Idle:
    name = "idle"


class Demanding(Nothing):
    def __init__(self, weight: int) -> None:
        raise AssertionError(weight)


@pytest.mark.parametrize("entry", [7, None, Idle(), Nameless(), Idle])
def test_what_is_not_an_assignor_is_refused(entry: object) -> None:
    with pytest.raises(ConfigurationError, match=r"is not a task assignor.*a name.*assign"):
        TaskAssignors.of(["sticky", entry])


def test_a_class_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Could not create the task assignor Demanding: .*weight.*or an obj"):
        TaskAssignors.of([Demanding])


class Asynchronous:
    name = "asynchronous"

    async def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments({})


@pytest.mark.parametrize("entry", [Asynchronous, Asynchronous()])
def test_an_asynchronous_assignor_is_refused(entry: object) -> None:
    with pytest.raises(ConfigurationError, match=r"task assignor 'asynchronous' is asynchronous\. Make it an ordinary"):
        TaskAssignors.of([entry])


def nobody(_state: ApplicationState) -> TaskAssignment:
    return TaskAssignment([])


class Nobody(TaskAssignor):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return nobody(application_state)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (nobody, "nobody"),
        (Nobody, "Nobody"),
        (Nobody(), "Nobody"),
        (f"{__name__}:Nobody", "Nobody"),
        (Registered(nobody, name="mine"), "mine"),
        (f"{__name__}:MINE", "nothing"),
        ("highly_available", "highly_available"),
    ],
)
def test_assignors_of_applications_are_registered_in_many_ways(entry: object, name: str) -> None:
    registered = TaskAssignors.of(["sticky", entry])
    assert registered.names == ("sticky", name)
    assert isinstance(registered.named(name), Registered) is (name != "nothing")
