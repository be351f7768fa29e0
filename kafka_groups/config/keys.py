"""One configuration key: its name, type, unit, default, bounds and meaning, and how a value for it is read.

A value may come as a Python value or as the string that a properties file or a Kafka request carries. A value that
does not fit raises an error that names the key, the value and the remedy; a secret value is never shown.
"""

import enum
import re
from collections.abc import Callable

from attrs import frozen

from kafka_groups.config.readers import UnfitError, read_boolean, read_integer, read_list, read_text
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

__all__ = ["HIDDEN", "REQUIRED", "Key", "KeyType", "without_login"]

HIDDEN = "(hidden)"
"""Takes the place of a secret value."""
INT_MAX = 2**31 - 1
_IN_URL = re.compile(r"//[^/@]*@")
"""Name and password in a URL."""
LONG_MAX = 2**63 - 1


def without_login(text: str) -> str:
    """Return text without the names and passwords in its URLs."""
    return _IN_URL.sub(f"//{HIDDEN}@", text)


class KeyType(enum.IntEnum):
    """The type of a key's value, numbered as in Kafka's DescribeConfigs response."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class _Required(enum.Enum):
    REQUIRED = "required"

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required.REQUIRED
"""The default of a key without a default."""

_READERS: dict[KeyType, Callable[[object], object]] = {
    KeyType.BOOLEAN: read_boolean,
    KeyType.STRING: read_text,
    KeyType.INT: read_integer,
    KeyType.SHORT: read_integer,
    KeyType.LONG: read_integer,
    KeyType.LIST: read_list,
    KeyType.PASSWORD: read_text,
}

_LIMITS: dict[KeyType, tuple[int, int]] = {
    KeyType.SHORT: (-(2**15), 2**15 - 1),
    KeyType.INT: (-(2**31), INT_MAX),
    KeyType.LONG: (-(2**63), LONG_MAX),
}


@frozen(kw_only=True)
class Key:
    """One configuration key.

    Attributes:
        name: The dotted name; Kafka's own where Kafka has the key.
        type: The type of the value.
        doc: A description of the key, in whole sentences.
        default: The value when none is given; `REQUIRED` if there must be one, `None` if none is a value.
        unit: `ms`, `bytes` … of a number.
        minimum: The smallest number allowed.
        maximum: The largest number allowed.
        choices: The words allowed, when only some are.
        reader: The reader of values, if the type alone does not determine it.
        form: The form of a value, if `reader` reads it.
        annotation: The Python type of a keyword with this key's value, where `type` and `choices` do not say it.
        aliases: Other dotted names that mean the same (confluent-kafka's).
        error: The class of the errors raised for this key.
    """

    name: str
    type: KeyType
    doc: str
    default: object = REQUIRED
    unit: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    reader: Callable[[object], object] | None = None
    form: str = ""
    annotation: str = ""
    aliases: tuple[str, ...] = ()
    error: Callable[[str], KafkaGroupsError] = ConfigurationError

    @property
    def secret(self) -> bool:
        """True if the key's values are secret and must not be shown."""
        return self.type in {KeyType.PASSWORD, KeyType.UNKNOWN}

    @property
    def required(self) -> bool:
        """True if the key has no default."""
        return self.default is REQUIRED

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The smallest and largest allowed number; `None` if the value is not a number."""
        if self.type not in _LIMITS:
            return None
        low, high = _LIMITS[self.type]
        return (low if self.minimum is None else self.minimum, high if self.maximum is None else self.maximum)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return " or ".join(self.choices)
        if self.form:
            return self.form
        if self.bounds is not None:
            low, high = self.bounds
            return f"a whole number from {low} to {high}" + (f" ({self.unit})" if self.unit else "")
        return {KeyType.BOOLEAN: "true or false", KeyType.LIST: "a comma-separated list"}.get(self.type, "text")

    def parse(self, value: object, *, named: str | None = None) -> object:
        """Return the value in its Python type.

        Args:
            value: A Python value, or its text as in a properties file.
            named: The user's name for the key, if it is not the dotted name.

        Raises:
            KafkaGroupsError: The value does not fit (of the class in `error`).
        """
        try:
            return self._fit(value)
        except UnfitError as unfit:
            raise self.problem(value, str(unfit), named=named) from None

    def problem(
        self, value: object, why: str, *, named: str | None = None, remedy: str | None = None
    ) -> KafkaGroupsError:
        """Return an error that names this key and the value, and says what is wrong and what to do.

        Args:
            value: The value.
            why: The problem, as half a sentence.
            named: The user's name for the key, if it is not the dotted name.
            remedy: The solution, as a sentence without its full stop; by default, the allowed values.
        """
        title = self.name if named in (None, self.name) else f"{named} ({self.name})"
        shown = HIDDEN if self.secret else without_login(repr(value))
        return self.error(f"Invalid value {shown} for {title}: {why}. {remedy or self._remedy()}.")

    def format(self, value: object) -> str | None:
        """Return the value as text, as Kafka's DescribeConfigs writes it; `None` for none and for secrets."""
        if value is None or self.secret:
            return None
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (list, tuple)):
            return ",".join(str(item) for item in value)
        return str(value)

    def _fit(self, value: object) -> object:
        if value is None and self.default is None:
            return None
        if value is None:
            raise UnfitError("a value is required")
        fitting = (self.reader or _READERS[self.type])(value)
        self._check_bounds(fitting)
        self._check_choices(fitting)
        return fitting

    def _check_bounds(self, value: object) -> None:
        if self.bounds is None or not isinstance(value, int):
            return
        low, high = self.bounds
        if value < low:
            raise UnfitError(f"below the minimum of {low}")
        if value > high:
            raise UnfitError(f"above the maximum of {high}")

    def _check_choices(self, value: object) -> None:
        if self.choices and any(word not in self.choices for word in (value if isinstance(value, tuple) else (value,))):
            raise UnfitError("not an allowed value")

    def _remedy(self) -> str:
        if self.required or self.default is None:
            return f"Use {self.allowed}"
        return f"Use {self.allowed}, or omit the key to use the default ({self.format(self.default)})"
