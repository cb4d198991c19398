"""What a function computes, as text that can be compared: its code, and all that was bound to it.

Two processes find the same text for the same function of the same program. Values are compared by
what they hold, as pickle sees it, not by where they are in memory; the order of a set does not count.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import types
from typing import Any

import numpy as np

# longer values are told by their hash
LONGEST_SHOWN = 60


def fingerprint(value: Any) -> str:
    """Hash of what a value holds; the same in every process."""
    return _Hasher(None).of(value).hex()


def description(function: Any) -> tuple[str, str, dict[str, str]]:
    """Name, hash of the code, and what is bound to the parameters of a function, by their names.

    Raises
    ------
    TypeError
        Something bound to it cannot be compared.
    """
    bound: dict[str, Any] = {}
    inner = function
    partials = []
    while isinstance(inner, functools.partial):
        partials.append(inner)
        inner = inner.func
    # the outermost partial has the last word
    for partial in reversed(partials):
        bound |= dict(partial.keywords)
    positional = [value for partial in reversed(partials) for value in partial.args]
    names = _parameters(inner)
    for k, value in enumerate(positional):
        bound[names[k] if k < len(names) else f"#{k + 1}"] = value
    shown = {}
    for name, value in sorted(bound.items()):
        try:
            shown[name] = _shown(value, getattr(inner, "__module__", None))
        except Exception as error:
            raise TypeError(f"argument `{name}` cannot be compared: {error}") from error
    made_by = inner if hasattr(inner, "__qualname__") else type(inner)
    name = f"{made_by.__module__}.{made_by.__qualname__}"
    return name, _Hasher(made_by.__module__).of(inner).hex()[:16], shown


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _shown(value: Any, module: str | None) -> str:
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        if len(text) <= LONGEST_SHOWN:
            return text
    return f"{type(value).__name__} {_Hasher(module).of(value).hex()[:16]}"


class _Hasher:
    """Hashes of values, each made of the hashes of its parts.

    Functions and classes of `module` are read; those of other modules are told by their names when a
    function looks them up.
    """

    def __init__(self, module: str | None) -> None:
        self._module = module
        # values are kept, so that no other one gets their place in memory
        self._known: dict[int, tuple[Any, bytes]] = {}
        self._open: list[int] = []

    def of(self, value: Any) -> bytes:
        """The hash of a value; it is the same in every process."""
        if isinstance(value, (type(None), bool, int, float, complex, str, bytes)):
            # the exact type: True is no 1 here
            return _hash(type(value).__name__, repr(value).encode())
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._open:
            depth = self._open[::-1].index(id(value))
            return _hash("itself", str(depth).encode())
        self._open.append(id(value))
        try:
            result = self._of_parts(value)
        finally:
            self._open.pop()
        self._known[id(value)] = (value, result)
        return result

    def _all(self, kind: str, values: Any) -> bytes:
        return _hash(kind, *[self.of(value) for value in values])

    def _of_parts(self, value: Any) -> bytes:
        kind = type(value).__qualname__
        if type(value) in (list, tuple):
            return self._all(kind, value)
        if type(value) is dict:
            return self._all(kind, [part for item in value.items() for part in item])
        if type(value) in (set, frozenset):
            return _hash(kind, *sorted(self.of(part) for part in value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            form = f"{value.dtype.descr} {value.shape}".encode()
            return _hash(kind, form, np.ascontiguousarray(value).tobytes())
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, types.CodeType):
            return self._of_code(value)
        if isinstance(value, types.MethodType):
            return self._all(kind, [value.__func__, value.__self__])
        if isinstance(value, types.ModuleType):
            return _hash(kind, value.__name__.encode())
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, types.BuiltinFunctionType):
            own = None if isinstance(value.__self__, types.ModuleType) else value.__self__
            return self._all(kind, [f"{value.__module__}.{value.__qualname__}", own])
        if hasattr(value, "__wrapped__"):
            return self._all(kind, [value.__wrapped__])
        return self._of_pickle(value)

    def _of_class(self, value: type) -> bytes:
        """Its name; if it is of the module that is read also its methods, and the classes that it stands on."""
        name = f"{value.__module__}.{value.__qualname__}".encode()
        if value.__module__ != self._module:
            return _hash("class", name)
        parts: list[Any] = list(value.__bases__)
        for key, part in sorted(vars(value).items()):
            if isinstance(part, property):
                parts += [key, part.fget]
            elif isinstance(part, (types.FunctionType, staticmethod, classmethod)):
                parts += [key, getattr(part, "__func__", part)]
        return _hash("class", name, self.of(parts))

    def _of_function(self, function: types.FunctionType) -> bytes:
        """Its code, what it has taken along, and the functions and values of its module that it names."""
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        parts: list[Any] = [function.__code__, function.__defaults__, function.__kwdefaults__, cells]
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                parts += [name, self._of_global(function.__globals__[name])]
        return self._all("function", parts)

    def _of_global(self, value: Any) -> bytes:
        if isinstance(value, types.FunctionType) and value.__module__ != self._module:
            return _hash("imported", f"{value.__module__}.{value.__qualname__}".encode())
        try:
            return self.of(value)
        except Exception:
            # as a lock or a logger, which no results follow from
            return _hash("opaque", type(value).__qualname__.encode())

    def _of_code(self, code: types.CodeType) -> bytes:
        """What runs, without the lines on which it stands."""
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        return self._all("code", [code.co_code, code.co_consts, names, counts])

    def _of_pickle(self, value: Any) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        reduced = reduce(value) if reduce else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return _hash("global", f"{type(value).__module__}.{reduced}".encode())
        # items of lists and dicts come as iterators
        parts = [list(part) if k > 2 and part is not None else part for k, part in enumerate(reduced[:5])]
        return self._all("object", parts)


def _names(code: types.CodeType) -> set[str]:
    """Names that a code and those within it look up."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _hash(kind: str, *parts: bytes) -> bytes:
    total = hashlib.sha256(kind.encode())
    for part in parts:
        # lengths keep `ab, c` and `a, bc` apart
        total.update(len(part).to_bytes(8, "little") + part)
    return total.digest()
