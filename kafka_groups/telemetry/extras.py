"""The error for a library that belongs to an extra and is not installed."""

__all__ = ["not_installed"]


def not_installed(error: ModuleNotFoundError, module: str, distribution: str, extra: str) -> ModuleNotFoundError:
    """Return the error to raise when an import of an extra's library failed.

    Args:
        error: The error of the import. It is returned as it is if another module was missing.
        module: The top-level module that was to be imported.
        distribution: Its name on PyPI.
        extra: The extra of kafka-groups that installs it.
    """
    if error.name is None or error.name.partition(".")[0] != module:
        return error
    return ModuleNotFoundError(
        f"This needs {distribution}, which is not installed: run pip install '.[{extra}]' in the checkout of"
        f" kafka-groups, or install its wheel with [{extra}]",
        name=error.name,
    )
