"""Every public name has a docstring with an example, and every example runs."""

import doctest
import inspect
import re
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import quasistep as qs


def _public():
    """Public functions, classes and methods, by their dotted name."""
    for name in qs.__all__:
        item = getattr(qs, name)
        if not callable(item):
            continue
        yield name, item
        if not inspect.isclass(item):
            continue
        for member in dir(item):
            method = inspect.getattr_static(item, member)
            own = not member.startswith("_") and not hasattr(tuple, member)
            is_call = inspect.isroutine(method) and not isinstance(method, cached_property)
            if own and is_call and not issubclass(item, BaseException | int):
                yield f"{name}.{member}", getattr(item, member)


PUBLIC = dict(_public())


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_docstring_has_an_example_that_runs(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert ">>>" in text, f"{name} has no example"
    _run(name, text)


def test_example_of_the_bridge_to_jax_runs():
    _run("quasistep.jax.step", inspect.getdoc(qs.jax.step))


def test_package_example_runs():
    _run("quasistep", qs.__doc__)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/realworld.md", "docs/identification.md"])
def test_python_blocks_of_the_docs_run(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, f"{page} has no python block"
    for folder in ("scenes", "docs", "validation"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "docs"}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)


def _run(name, text):
    example = doctest.DocTestParser().get_doctest(text, {"qs": qs, "np": np}, name, name, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(example, out=said.append)
    assert result.failed == 0, "".join(said)


def test_stubs_and_sources_are_shipped():
    folder = Path(qs.__file__).parent
    assert (folder / "py.typed").is_file() and (folder / "_core.pyi").is_file()
