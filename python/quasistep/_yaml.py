"""Python values as scene text: JSON, which is YAML, and YAML for people."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


def plain(value: Any) -> Any:
    """The value with arrays as lists, paths as texts, and without keys that hold None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__name__
    raise TypeError(f"a {kind} was seen in a scene; give numbers, texts, lists and dicts")


def to_json(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(plain(value), ensure_ascii=False)


def mapping(value: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """The value if it is a mapping; else an error that says what `what` must be."""
    if not hasattr(value, "items"):
        raise TypeError(f"`{what}` is a {type(value).__name__}; it must be a dict of values by name")
    return value


def changes(set: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values by their dotted keys as pairs of texts, as `--set` takes them."""
    pairs = mapping(set, "set").items()
    return [(key, value if isinstance(value, str) else to_json(value)) for key, value in pairs]


def to_yaml(tree: Any, indent: int = 0) -> str:
    """A mapping as YAML: one key a line where that reads well, short values in line."""
    lines = []
    for key, value in plain(tree).items():
        head = "  " * indent + _scalar(key) + ":"
        flow = _flow(value)
        if isinstance(value, dict) and value and (indent < 1 or len(head) + len(flow) > 90):
            lines += [head, to_yaml(value, indent + 1)]
        elif isinstance(value, list) and value and len(head) + len(flow) > 90:
            lines += [head, *("  " * (indent + 1) + "- " + _flow(item) for item in value)]
        else:
            lines.append(f"{head} {flow}")
    return "\n".join(lines)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
