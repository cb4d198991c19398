"""Files that are written whole, and read if they are not too long."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

# bytes of a table or a scene, as of the scenes' own reader
MOST_TEXT = 1 << 26


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a regular file: a pipe may never end."""
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{os.fspath(path)}: a folder, a pipe or a device; a file is needed")
    if about.st_size > MOST_TEXT:
        raise ValueError(f"{os.fspath(path)}: it has {about.st_size} bytes; at most {MOST_TEXT} are read")
    with open(path, newline="", encoding="utf-8") as file:
        return file.read(MOST_TEXT)


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
