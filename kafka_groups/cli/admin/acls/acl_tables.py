"""ACLs as entries of documents and as rows."""

from collections.abc import Sequence
from typing import Final

from kafka_groups.acls import AclBinding
from kafka_groups.cli.answers import AnswerTable
from kafka_groups.cli.documents.acls import AclEntry

__all__ = ["ACL_TABLE", "acl_entry"]


def acl_entry(binding: AclBinding) -> AclEntry:
    """Return an ACL as documents have it."""
    return AclEntry(
        binding.principal,
        binding.permission.name,
        binding.operation.name,
        binding.resource_type.name,
        binding.name,
        binding.pattern_type.name,
        binding.host,
    )


def _row(acl: AclEntry) -> Sequence[str]:
    return (
        acl.principal,
        acl.permission,
        acl.operation,
        acl.resource_type,
        acl.resource,
        acl.pattern_type,
        acl.host,
    )


ACL_TABLE: Final = AnswerTable[AclEntry](
    ("PRINCIPAL", "PERMISSION", "OPERATION", "TYPE", "RESOURCE", "PATTERN", "HOST"), _row
)
