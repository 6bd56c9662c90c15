"""Files that the user asked for by name."""

from __future__ import annotations

from pathlib import Path

from lab.problem import Problem


def write(file: Path, text: str, option: str) -> None:
    """Makes its folders as well. `option`: by which another place can be given, as in --json."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{file} cannot be written: {error.strerror}", f"give {option} another place") from None
