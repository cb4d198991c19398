"""Files that are whole at any moment."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file beside its place and moves it there; what is no regular file is written as it stands."""
    place = Path(path)
    if place.exists() and not place.is_file():
        place.write_text(text, encoding="utf-8")
        return
    place = place.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
