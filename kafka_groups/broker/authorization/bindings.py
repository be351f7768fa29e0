"""The access control lists of a cluster, by resource, and the filters that find some of them. No I/O."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from attrs import field, frozen

from kafka_groups.acls import AclBinding, AclFilter, AclPatternType, AclResourceType
from kafka_groups.broker.persistent_map import PersistentMap

__all__ = ["ANY_USER", "CLUSTER_NAME", "WILDCARD", "AccessControlLists", "matches"]

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""
WILDCARD: Final = "*"
"""As the name of a literal binding, every resource of its type; as a host, every host."""
ANY_USER: Final = "User:*"
"""The principal of bindings that apply to everybody."""

_TYPES = tuple(AclResourceType)

AclResource = tuple[AclResourceType, AclPatternType, str]
"""Type, kind of pattern, and name."""


@frozen(eq=False)
class AccessControlLists:
    """All bindings of a cluster at one moment. A change makes new lists and costs as little as its bindings."""

    _by_resource: PersistentMap[AclResource, tuple[AclBinding, ...]] = field(factory=PersistentMap)

    def __iter__(self) -> Iterator[AclBinding]:
        return chain.from_iterable(self._by_resource.values())

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self._of((binding.resource_type, binding.pattern_type, binding.name))

    def literal(self, resource_type: AclResourceType, name: str) -> tuple[AclBinding, ...]:
        """Return the literal bindings with exactly this name."""
        return self._of((resource_type, AclPatternType.LITERAL, name))

    def applying_to(self, resource_type: AclResourceType, name: str) -> Iterator[AclBinding]:
        """Yield the bindings that apply to a resource: by its name, by `*`, or by a prefix of its name."""
        yield from self.literal(resource_type, name)
        if name != WILDCARD:
            yield from self.literal(resource_type, WILDCARD)
        for end in range(1, len(name) + 1):
            yield from self._of((resource_type, AclPatternType.PREFIXED, name[:end]))

    def candidates(self, wanted: AclFilter) -> Iterator[AclBinding]:
        """Yield at least the bindings that meet a filter: those with its name if it has one, and otherwise all."""
        name = wanted.name
        if name is None:
            yield from self
            return
        for resource_type in _TYPES if wanted.resource_type is None else (wanted.resource_type,):
            if wanted.pattern_type is AclPatternType.MATCH:
                yield from self.applying_to(resource_type, name)
                continue
            for pattern_type in (AclPatternType.LITERAL, AclPatternType.PREFIXED):
                yield from self._of((resource_type, pattern_type, name))

    def with_changes(self, created: Iterable[AclBinding], deleted: Iterable[AclBinding] = ()) -> "AccessControlLists":
        """Return lists with these bindings added and removed, or these lists if they would be the same.

        One that exists is not added again.
        """
        drafts = _Drafts(self._by_resource)
        for binding in deleted:
            drafts[binding.resource_type, binding.pattern_type, binding.name].pop(binding, None)
        for binding in created:
            drafts[binding.resource_type, binding.pattern_type, binding.name][binding] = None
        changed = {resource: new for resource, draft in drafts.items() if (new := (*draft,)) != drafts.before[resource]}
        if not changed:
            return self
        put = {resource: bindings for resource, bindings in changed.items() if bindings}
        return AccessControlLists(self._by_resource.with_entries(put, [each for each in changed if each not in put]))

    def _of(self, resource: AclResource) -> tuple[AclBinding, ...]:
        return self._by_resource.get(resource, ())


class _Drafts(dict[AclResource, dict[AclBinding, None]]):
    """The bindings of the resources that a change is about, in the making, and as they were before."""

    def __init__(self, by_resource: PersistentMap[AclResource, tuple[AclBinding, ...]]) -> None:
        super().__init__()
        self.before: dict[AclResource, tuple[AclBinding, ...]] = {}
        self._by_resource = by_resource

    def __missing__(self, resource: AclResource) -> dict[AclBinding, None]:
        self.before[resource] = before = self._by_resource.get(resource, ())
        self[resource] = draft = dict.fromkeys(before)
        return draft


def matches(wanted: AclFilter, binding: AclBinding) -> bool:
    """Return whether a binding meets a filter.

    Principal, host and operation are compared as they are: `User:ann` does not find `User:*`, nor DESCRIBE a READ.
    """
    return (
        wanted.resource_type in (None, binding.resource_type)
        and wanted.principal in (None, binding.principal)
        and wanted.host in (None, binding.host)
        and wanted.operation in (None, binding.operation)
        and wanted.permission in (None, binding.permission)
        and _matches_name(wanted, binding)
    )


def _matches_name(wanted: AclFilter, binding: AclBinding) -> bool:
    if wanted.pattern_type not in (None, AclPatternType.MATCH, binding.pattern_type):
        return False
    if wanted.name is None or wanted.name == binding.name:
        return True
    return wanted.pattern_type is AclPatternType.MATCH and _covers(binding, wanted.name)


def _covers(binding: AclBinding, name: str) -> bool:
    if binding.pattern_type is AclPatternType.PREFIXED:
        return name.startswith(binding.name)
    return binding.name == WILDCARD
