"""The error for a library that belongs to an extra and is not installed."""

__all__ = ["tell_missing"]


def tell_missing(error: ModuleNotFoundError, module: str, distribution: str, extra: str) -> None:
    """Raise an error that says what to install, after the import of an extra's library failed.

    Args:
        error: The error of the import. Nothing is raised if another module was missing.
        module: The top-level module that was to be imported.
        distribution: Its name on PyPI.
        extra: The extra of kafka-groups that installs it.

    Raises:
        ModuleNotFoundError: It says what to install.
    """
    if error.name is None or error.name.partition(".")[0] != module:
        return
    raise ModuleNotFoundError(
        f"This needs {distribution}, which is not installed: run pip install '.[{extra}]' in the checkout of"
        f" kafka-groups, or install its wheel with [{extra}]",
        name=error.name,
    ) from error
