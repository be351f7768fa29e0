"""Reads and writes the fields of bytes that members of a classic group exchange, one after the other.

Other programs wrote the bytes that are read. A length is therefore compared with the bytes that are left before
anything of that size is read or counted, and every failure is a `MemberDataError` that names the field.
"""

import struct
from collections.abc import Sequence
from typing import Final, NoReturn

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.errors.texts import counted, represented, sentences
from kafka_groups.protocol.modified_utf8 import modified_utf8, text_of_modified_utf8

__all__ = ["INT8", "INT16", "INT32", "INT64", "UINT16", "MemberDataReader", "MemberDataWriter"]

INT8: Final = struct.Struct(">b")
INT16: Final = struct.Struct(">h")
UINT16: Final = struct.Struct(">H")
INT32: Final = struct.Struct(">i")
INT64: Final = struct.Struct(">q")

_NULL: Final = -1


class MemberDataReader:
    """Reads one field after the other.

    Args:
        structure: The name of the structure, for errors.
        data: Its bytes.
    """

    def __init__(self, structure: str, data: bytes) -> None:
        self._structure = structure
        self._data = data
        self._at = 0

    def number(self, form: struct.Struct, field: str) -> int:
        """Read a number.

        Raises:
            MemberDataError: The bytes end before.
        """
        number: int = form.unpack(self.taken(form.size, field))[0]
        return number

    def int32s(self, field: str) -> tuple[int, ...]:
        """Read a list of numbers of four bytes.

        Raises:
            MemberDataError: The bytes end before.
        """
        count = len(self.items(INT32.size, field))
        return struct.unpack(f">{count}i", self.taken(count * INT32.size, field))

    def items(self, least: int, field: str) -> range:
        """Read the number of items of a list; iterate over the result to read each of them.

        Args:
            least: The bytes that an item has at least.
            field: The field.

        Raises:
            MemberDataError: The number is negative, or the bytes are too few for so many items.
        """
        count = self.number(INT32, field)
        if not 0 <= count * least <= len(self._data) - self._at:
            self.fail(field, f"it announces {counted(count, 'item')}, and has {self._left()} left")
        return range(count)

    def text(self, length: struct.Struct, field: str) -> str:
        """Read a text, whose bytes come after their number.

        Raises:
            MemberDataError: It is null, is not UTF-8, or the bytes end before.
        """
        return self._decoded(self.taken(self.number(length, field), field), field)

    def text_or_null(self, length: struct.Struct, field: str) -> str | None:
        """Read a text, or None if it is null.

        Raises:
            MemberDataError: It is not UTF-8, or the bytes end before.
        """
        data = self.bytes_or_null(length, field)
        return None if data is None else self._decoded(data, field)

    def java_text(self, field: str) -> str:
        """Read a text in Java's modified UTF-8.

        Raises:
            MemberDataError: It is not modified UTF-8, or the bytes end before.
        """
        data = self.taken(self.number(UINT16, field), field)
        try:
            return text_of_modified_utf8(data)
        except UnicodeError as error:
            self.fail(field, f"it is not text: {error}", error)

    def bytes_or_null(self, length: struct.Struct, field: str) -> bytes | None:
        """Read bytes, or None if they are null.

        Raises:
            MemberDataError: The bytes end before.
        """
        size = self.number(length, field)
        return None if size == _NULL else self.taken(size, field)

    def taken(self, size: int, field: str) -> bytes:
        """Read bytes.

        Raises:
            MemberDataError: The bytes end before.
        """
        start, end = self._at, self._at + size
        if not start <= end <= len(self._data):
            self.fail(field, f"it needs {counted(size, 'byte')}, and has {self._left()} left")
        self._at = end
        return self._data[start:end]

    @property
    def position(self) -> int:
        """The number of bytes that have been read."""
        return self._at

    def since(self, position: int) -> bytes:
        """Return the bytes that have been read since a position."""
        return self._data[position : self._at]

    def skip(self, known: bytes) -> bool:
        """Skip known bytes if they come next, and return whether they do."""
        comes = self._data.startswith(known, self._at)
        self._at += len(known) if comes else 0
        return comes

    def fail(
        self,
        field: str,
        reason: str,
        cause: Exception | None = None,
        *,
        problem: MemberDataProblem = MemberDataProblem.BROKEN,
    ) -> NoReturn:
        """Raise the error of a field that cannot be read.

        Raises:
            MemberDataError: Always.
        """
        where = f"{self._structure}.{field}"
        message = f"Cannot read {where} (at byte {self._at} of {len(self._data)}): {reason}"
        raise MemberDataError(sentences(message), problem=problem, field=where) from cause

    def _left(self) -> str:
        return counted(len(self._data) - self._at, "byte")

    def _decoded(self, data: bytes, field: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            self.fail(field, f"it is not text: {error}", error)


class MemberDataWriter:
    """Writes one field after the other.

    Args:
        structure: The name of the structure, for errors.
    """

    def __init__(self, structure: str) -> None:
        self._structure = structure
        self._parts: list[bytes] = []

    def written(self) -> bytes:
        """Return all bytes."""
        return b"".join(self._parts)

    def number(self, form: struct.Struct, number: int, field: str) -> None:
        """Write a number.

        Raises:
            MemberDataError: It does not fit.
        """
        try:
            self._parts.append(form.pack(number))
        except struct.error as error:
            self.fail(field, f"{represented(number)} does not fit into {counted(form.size, 'byte')}", error)

    def numbers(self, numbers: Sequence[int], field: str) -> None:
        """Write numbers of four bytes, one after the other.

        Raises:
            MemberDataError: One does not fit.
        """
        try:
            self._parts.append(struct.pack(f">{len(numbers)}i", *numbers))
        except struct.error:
            for each in numbers:
                self.number(INT32, each, field)  # names the first one that does not fit
            raise

    def int32s(self, numbers: tuple[int, ...], field: str) -> None:
        """Write a list of numbers of four bytes.

        Raises:
            MemberDataError: One does not fit.
        """
        try:
            self._parts.append(struct.pack(f">{len(numbers) + 1}i", len(numbers), *numbers))
        except struct.error as error:
            self.fail(field, f"one of {represented(numbers)} does not fit into 4 bytes", error)

    def text(self, length: struct.Struct, text: str, field: str) -> None:
        """Write a text after the number of its bytes.

        Raises:
            MemberDataError: It is too long, or has no bytes in UTF-8.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            self.fail(field, f"{represented(text)} is not text: {error}", error)
        self.sized(length, data, field)

    def text_or_null(self, length: struct.Struct, text: str | None, field: str) -> None:
        """Write a text after the number of its bytes, or null.

        Raises:
            MemberDataError: It is too long, or has no bytes in UTF-8.
        """
        if text is None:
            self.sized(length, None, field)
        else:
            self.text(length, text, field)

    def java_text(self, text: str, field: str) -> None:
        """Write a text in Java's modified UTF-8.

        Raises:
            MemberDataError: It is too long.
        """
        self.sized(UINT16, modified_utf8(text), field)

    def sized(self, length: struct.Struct, data: bytes | None, field: str) -> None:
        """Write bytes after their number, or null.

        Raises:
            MemberDataError: They are too many.
        """
        self.number(length, _NULL if data is None else len(data), field)
        self._parts.append(data or b"")

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._parts.append(data)

    def fail(self, field: str, reason: str, cause: Exception | None = None) -> NoReturn:
        """Raise the error of a field that cannot be written.

        Raises:
            MemberDataError: Always.
        """
        where = f"{self._structure}.{field}"
        message = f"Cannot write {where}: {reason}"
        raise MemberDataError(sentences(message), problem=MemberDataProblem.INVALID_VALUE, field=where) from cause
