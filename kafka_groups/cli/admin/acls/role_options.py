"""`acls add --for`: the rights that programs of this package ask for."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from attrs import frozen

from kafka_groups.acls import AclOperation, AclPatternType, AclResourceType
from kafka_groups.cli.acl_options import ResourceChoice
from kafka_groups.cli.choices import AnyCase

if TYPE_CHECKING:
    from kafka_groups.client.rights import NeededRight

__all__ = ["RoleChoice", "role_options"]

F = TypeVar("F", bound=Callable[..., Any])

_O, _T = AclOperation, AclResourceType
_ROLES: Final = ("producer", "share-consumer", "worker", "streams")
_LOADED: Final = ("worker", "streams")


@frozen
class RoleChoice:
    """The program that needs rights.

    Attributes:
        role: `producer`, `share-consumer`, `worker` or `streams`; None without `--for`.
        named: The worker, or the function that builds a topology, as `MODULE:NAME`.
        creates_topics: Whether a worker creates its topics.
        is_exactly_once: Whether an application writes in transactions.
    """

    role: str | None
    named: str | None
    creates_topics: bool
    is_exactly_once: bool

    def __bool__(self) -> bool:
        return self.role is not None

    def check(self) -> None:
        """Check the options.

        Raises:
            click.UsageError: They contradict each other.
        """
        if self.role in _LOADED and self.named is None:
            raise click.UsageError(f"--for {self.role} needs MODULE:NAME, such as shop:{self.role}.")
        if self.role not in _LOADED and self.named is not None:
            raise click.UsageError(f"{self.named!r} is for --for worker and --for streams.")
        if self.creates_topics and self.role != "worker":
            raise click.UsageError("--create-topics is for --for worker.")
        if self.is_exactly_once and self.role != "streams":
            raise click.UsageError("--exactly-once is for --for streams.")

    def rights(self, resources: ResourceChoice) -> Sequence["NeededRight"]:
        """Return the rights of the program.

        Raises:
            click.UsageError: A resource is missing, or one is given that the program itself names.
            click.ClickException: The program cannot be loaded.
        """
        if self.role == "worker":
            return self._of_worker(resources)
        if self.role == "streams":
            return self._of_streams(resources)
        return _of_consumer(resources) if self.role == "share-consumer" else _of_producer(resources)

    def _of_worker(self, resources: ResourceChoice) -> Sequence["NeededRight"]:
        from kafka_groups.cli.admin.acls.program_rights import rights_of_worker  # noqa: PLC0415 - help needs no workers

        if resources:
            raise click.UsageError(
                "--for worker takes groups and topics from the worker: leave out --topic and --group."
            )
        return rights_of_worker(self.named or "", creates_topics=self.creates_topics)

    def _of_streams(self, resources: ResourceChoice) -> Sequence["NeededRight"]:
        from kafka_groups.cli.admin.acls.program_rights import rights_of_application  # noqa: PLC0415 - as above

        given = _names(resources, "streams", _T.GROUP)
        if len(given) != 1:
            raise click.UsageError("--for streams needs the application.id: --group shop.")
        return rights_of_application(self.named or "", given[0], is_exactly_once=self.is_exactly_once)


def _of_producer(resources: ResourceChoice) -> Sequence["NeededRight"]:
    from kafka_groups.client.rights import NeededRight  # noqa: PLC0415 - help texts need no client

    topics = _names(resources, "producer", _T.TOPIC, _T.TRANSACTIONAL_ID)
    is_prefix = resources.pattern_type is AclPatternType.PREFIXED
    if not topics:
        raise click.UsageError("--for producer needs --topic.")
    ids = resources.of(_T.TRANSACTIONAL_ID)
    return [
        NeededRight((_O.WRITE,), kind, names, is_prefix=is_prefix)
        for kind, names in ((_T.TOPIC, topics), (_T.TRANSACTIONAL_ID, ids))
        if names
    ]


def _of_consumer(resources: ResourceChoice) -> Sequence["NeededRight"]:
    from kafka_groups.client.rights import NeededRight  # noqa: PLC0415 - help texts need no client

    groups = _names(resources, "share-consumer", _T.GROUP, _T.TOPIC)
    topics = resources.of(_T.TOPIC)
    if not (groups and topics):
        raise click.UsageError("--for share-consumer needs --group and --topic.")
    is_prefix = resources.pattern_type is AclPatternType.PREFIXED
    return [
        NeededRight((_O.READ,), kind, names, is_prefix=is_prefix)
        for kind, names in ((_T.GROUP, groups), (_T.TOPIC, topics))
    ]


def _names(resources: ResourceChoice, role: str, *allowed: AclResourceType) -> tuple[str, ...]:
    """Return the names of the first type that a role takes, and refuse those of types that it does not take."""
    if others := [each for each in resources.names if each not in allowed and resources.of(each)]:
        option = f"--{others[0].name.lower().replace('_', '-')}"
        raise click.UsageError(f"--for {role} does not take {option}.")
    return resources.of(allowed[0])


def role_options(command: F) -> F:
    """Add `--for` and its argument to a command, which gets a `RoleChoice` for `role`."""

    @functools.wraps(command)
    def run(*, role: str | None, named: str | None, create_topics: bool, exactly_once: bool, **given: Any) -> Any:
        choice = RoleChoice(role, named, create_topics, exactly_once)
        choice.check()
        return command(role=choice, **given)

    options = (
        click.argument("named", metavar="[MODULE:NAME]", required=False),
        click.option(
            "--for",
            "role",
            type=AnyCase(_ROLES),
            help="All that a program of this package asks for: a producer or share consumer of the resources, the "
            "worker MODULE:NAME, or the application whose topology MODULE:NAME builds (its application.id is --group).",
        ),
        click.option("--create-topics", is_flag=True, help="With --for worker: it creates its topics, too."),
        click.option("--exactly-once", is_flag=True, help="With --for streams: it writes in transactions."),
    )
    made: Any = run
    for option in reversed(options):
        made = option(made)
    result: F = made
    return result
