"""The file of a sweep: a line that tells what it is of, then a line and the bytes of arrays for each shard.

    quasistep sweep 2 CRC {"n": …, "shard": …, "function": …}
    shard CRC {"shard": 0, "arrays": [["q", "<f8", [100, 9]]], "crc": …}

CRC is that of the text behind it, in hexadecimal; "crc" that of the arrays' bytes, which follow in the
order of the list. No length is trusted: what a line promises is compared with what the file has. A
record that is cut off at the end is a driver's that was killed; the next one takes its place.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._types import Rows

VERSION = 2
HEAD = b"quasistep sweep %d" % VERSION
RECORD = b"shard"
# bytes of a line: names, types and shapes of arrays, arguments of a function
LONGEST_LINE = 1 << 20
# bytes that are read at once
PIECE = 1 << 20


class Record(NamedTuple):
    """A shard that is there."""

    shard: int
    arrays: list[tuple[str, np.dtype[Any], tuple[int, ...]]]
    start: int
    """Byte of the file at which the arrays start."""
    crc: int
    """Checksum of their bytes."""

    @property
    def end(self) -> int:
        """Byte behind them."""
        return self.start + sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in self.arrays)


def open_own(path: str | os.PathLike[str], head: dict[str, Any]) -> tuple[BinaryIO, set[int]]:
    """Opens a file for the sweep of this head, and tells which shards are in it.

    An empty file gets the head. What is no file of this sweep is left as it is, byte by byte.

    Raises
    ------
    ValueError
        It is something else, another sweep's, or is being written by another driver.
    """
    # pipes and devices: without waiting for their other end
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = _open(path, flags)
    try:
        _lock(file, path)
        if _size(file) == 0:
            _write(file, _line(HEAD, head))
            return file, set()
        seen = _read_head(file, path, ", and not empty: it stays as it is; give another path")
        if seen != head:
            raise ValueError(f"{os.fspath(path)}: {_differences(seen, head)}")
        done: set[int] = set()
        end = file.tell()
        for record, end in _records(file, path, seen):
            if record is not None:
                done.add(record.shard)
        # what follows was cut off while it was written
        os.ftruncate(file.fileno(), end)
        return file, done
    except BaseException:
        file.close()
        raise


def append(file: BinaryIO, k: int, size: int, rows: Rows) -> None:
    """Writes a shard of so many rows; it is on the disk when this returns."""
    arrays = {name: np.ascontiguousarray(values) for name, values in rows.items()}
    for name, values in arrays.items():
        if values.shape[:1] != (size,) or values.dtype.hasobject or values.dtype.names:
            raise ValueError(
                f"`{name}` has shape {values.shape} and type {values.dtype}; "
                f"give {size} rows of numbers"
            )
    body = b"".join(values.tobytes() for values in arrays.values())
    shapes = [[name, values.dtype.str, values.shape] for name, values in arrays.items()]
    _write(file, _line(RECORD, {"shard": k, "arrays": shapes, "crc": zlib.crc32(body)}) + body)


def read(path: str | os.PathLike[str]) -> Rows:
    """The rows of a file that holds all of its shards."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with _open(path, flags) as file:
        head = _read_head(file, path)
        records = {r.shard: r for r, _ in _records(file, path, head) if r is not None}
        shards = -(-head["n"] // head["shard"])
        if len(records) < shards:
            missing = shards - len(records)
            raise ValueError(f"{path}: {missing} of {shards} shards are missing; sweep again")
        result = _columns(path, head, records)
        for k, record in records.items():
            file.seek(record.start)
            for name, dtype, shape in record.arrays:
                body = file.read(dtype.itemsize * math.prod(shape))
                at = k * head["shard"]
                result[name][at : at + shape[0]] = np.ndarray(shape, dtype, body)
        return result


def _columns(path: str | os.PathLike[str], head: dict[str, Any], records: dict[int, Record]) -> Rows:
    """Arrays with room for all rows, whose types hold those of every shard."""
    forms: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
    for k, record in sorted(records.items()):
        mine = {name: (dtype, shape[1:]) for name, dtype, shape in record.arrays}
        forms = forms or mine
        try:
            if {n: shape for n, (_, shape) in mine.items()} != {n: shape for n, (_, shape) in forms.items()}:
                raise TypeError
            forms = {n: (np.result_type(forms[n][0], mine[n][0]), mine[n][1]) for n in forms}
        except TypeError:
            shown = [{n: f"{t} {shape}" for n, (t, shape) in form.items()} for form in (forms, mine)]
            raise ValueError(
                f"{os.fspath(path)}: rows of shard {k} are {shown[1]}; of those before {shown[0]}"
            ) from None
    return {name: np.empty((head["n"], *shape), dtype) for name, (dtype, shape) in forms.items()}


def _records(
    file: BinaryIO, path: str | os.PathLike[str], head: dict[str, Any]
) -> Iterator[tuple[Record | None, int]]:
    """Records from here on and where each ends; None for one whose rows are spoilt, which is left out."""
    size = _size(file)
    seen: set[int] = set()
    while True:
        start = file.tell()
        line = file.readline(LONGEST_LINE)
        # cut off: a beginning of a record, or the zeros that some disks leave after a power failure
        is_own = RECORD.startswith(line[: len(RECORD)]) or not line.strip(b"\0")
        if is_own and not line.endswith(b"\n") and file.tell() == size:
            return
        record = _record(line, file.tell(), head)
        end = record.end if record else 0
        if end > size:
            return
        if record is None or record.shard in seen:
            raise ValueError(
                f"{os.fspath(path)}: byte {start} is not the start of a shard: the file is spoilt; "
                f"give a copy of it, or cut it off there and sweep again"
            )
        crc = 0
        while file.tell() < end:
            crc = zlib.crc32(file.read(min(PIECE, end - file.tell())), crc)
        if crc == record.crc:
            seen.add(record.shard)
            yield record, end
        elif end < size:
            yield None, end


def _record(line: bytes, start: int, head: dict[str, Any]) -> Record | None:
    """What the line of a record says, if that is a shard of this sweep."""
    body: Any = _body(line) if _kind(line) == RECORD else None
    try:
        k, crc = body["shard"], body["crc"]
        size = min(head["shard"], head["n"] - k * head["shard"])
        arrays = [(str(name), np.dtype(kind), tuple(shape)) for name, kind, shape in body["arrays"]]
    except (KeyError, TypeError, ValueError):
        return None
    sizes = [size for _, _, shape in arrays for size in shape]
    if type(k) is not int or k < 0 or size < 1 or any(type(n) is not int or n < 0 for n in sizes):
        return None
    fits = all(shape[:1] == (size,) and not dtype.hasobject for _, dtype, shape in arrays)
    return Record(k, arrays, start, crc) if fits else None


def _line(kind: bytes, body: dict[str, Any]) -> bytes:
    text = json.dumps(body).encode()
    if len(text) > LONGEST_LINE // 2:
        raise ValueError(f"names and shapes of the arrays, or arguments, take {len(text)} bytes")
    return b"%s %08x %s\n" % (kind, zlib.crc32(text), text)


def _kind(line: bytes) -> bytes:
    return line.split(b" {")[0].rpartition(b" ")[0]


def _body(line: bytes) -> Any:
    """What a line says, if its checksum holds."""
    crc, _, text = line[len(_kind(line)) + 1 :].rstrip(b"\n").partition(b" ")
    try:
        return json.loads(text) if crc == b"%08x" % zlib.crc32(text) else None
    except (ValueError, RecursionError):
        return None


def _read_head(file: BinaryIO, path: str | os.PathLike[str], hint: str = "") -> dict[str, Any]:
    file.seek(0)
    line = file.readline(LONGEST_LINE)
    if line.startswith(b'{"format": "quasistep sweep", "version": 1,'):
        raise ValueError(
            f"{os.fspath(path)}: a sweep's file of version 1, which does not tell by which function its rows "
            f"were made; version {VERSION} is read. Give another path to make it again, or read it with quasistep 0.2"
        )
    newer = re.match(rb"quasistep sweep (\d+) ", line)
    if newer and int(newer[1]) != VERSION:
        raise ValueError(
            f"{os.fspath(path)}: a sweep's file of version {int(newer[1])}; version {VERSION} is read"
        )
    if _kind(line) != HEAD:
        raise ValueError(f"{os.fspath(path)}: not a file of a sweep{hint}")
    head = _body(line) if line.endswith(b"\n") else None
    if not isinstance(head, dict) or not (_is_count(head, "n", 0) and _is_count(head, "shard", 1)):
        raise ValueError(f"{os.fspath(path)}: the first line of this sweep's file is spoilt")
    return head


def _is_count(head: dict[str, Any], key: str, least: int) -> bool:
    value = head.get(key)
    return type(value) is int and value >= least


def _differences(seen: dict[str, Any], head: dict[str, Any]) -> str:
    """What tells two sweeps apart, and what to do."""
    if ("name" in seen) != ("name" in head):
        word = {True: "with", False: "without"}
        told = [f"it was made {word['name' in seen]} `name`, now {word['name' in head]}"]
    else:
        told = []
        for key in sorted({*seen, *head} - {"arguments", "code"}):
            if seen.get(key) != head.get(key):
                told.append(f"`{key}` is {seen.get(key)!r} there, {head.get(key)!r} now")
        if seen.get("code") != head.get("code") and not told:
            told.append("the function's code, or a value that it looks up, is another one")
        old, new = seen.get("arguments", {}), head.get("arguments", {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                was, now = (words.get(name, "not given") for words in (old, new))
                told.append(f"its argument `{name}` is {was} there, {now} now")
    return (
        f"another sweep's file: {'; '.join(told)}. Give another path, or remove the file to begin anew; "
        f"`name=` says what makes the rows in place of code and arguments"
    )


def _write(file: BinaryIO, text: bytes) -> None:
    """Appends bytes, all or none."""
    end = _size(file)
    left = memoryview(text)
    try:
        while left:
            left = left[os.write(file.fileno(), left) :]
        os.fsync(file.fileno())
    except BaseException:
        os.ftruncate(file.fileno(), end)
        raise


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _open(path: str | os.PathLike[str], flags: int) -> BinaryIO:
    """Opens a regular file, of which bytes are read here and written by their descriptor."""
    number = os.open(path, flags, 0o666)
    if stat.S_ISREG(os.fstat(number).st_mode):
        return os.fdopen(number, "rb")
    os.close(number)
    raise ValueError(f"{os.fspath(path)}: a folder, a pipe or a device; a sweep needs a file")


def _lock(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    """Two drivers on one file would write everything twice."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{os.fspath(path)}: another sweep is writing this file") from None
