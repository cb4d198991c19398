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


@pytest.mark.parametrize("name", ["", *qs.gym.__all__])
def test_examples_of_environments_run(name):
    item = getattr(qs.gym, name) if name else qs.gym
    _run("quasistep.gym", inspect.getdoc(item) or "")


def test_package_example_runs():
    _run("quasistep", qs.__doc__)


def _pages_with(language):
    """Pages with code of a language, as they are written. Tutorials run when the site is built."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [page for page in pages if f"```{language}\n" in page.read_text(encoding="utf-8")]
    assert len(found) > 3, f"where are the pages with {language}?"
    return [str(page.relative_to(ROOT)) for page in found]


def _blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", _pages_with("python"))
def test_python_blocks_of_the_docs_run(page, tmp_path, monkeypatch):
    for folder in ("scenes", "docs", "validation"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "docs"}
    for block in _blocks(page, "python"):
        exec(compile(block, page, "exec"), scope)


# examples of the scene format name files that quasistep-scene's tests make
@pytest.mark.parametrize("page", [page for page in _pages_with("yaml") if not page.startswith("docs/scene")])
def test_scenes_in_the_docs_are_valid(page):
    for block in _blocks(page, "yaml"):
        qs.loads(block, dir=ROOT / "scenes")


@pytest.mark.parametrize("page", sorted((ROOT / "docs/scene").glob("*.md")), ids=lambda page: page.stem)
def test_pages_of_the_scene_format_are_short_and_have_an_example(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 1500
    assert "```yaml\n" in text


def test_every_public_name_is_on_a_page_of_the_interface():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").glob("*.md"))
    shown = set(re.findall(r"^\.\. auto\w+:: (\w+)$", pages, re.MULTILINE))
    constants = {"CONTACT", "SLIP_SPEED_THRESHOLD", "TASKS", "__version__"}
    assert {*qs.__all__, *qs.gym.__all__} - constants == shown


def test_every_error_has_an_entry_in_troubleshooting():
    text = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    bases = {qs.QuasistepError, qs.StepError}
    for name in qs.__all__:
        item = getattr(qs, name)
        if inspect.isclass(item) and issubclass(item, Exception) and item not in bases:
            assert f"`{name}`" in text, f"{name} has no entry"


def test_the_gallery_shows_every_scene():
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    scenes = sorted(file.stem for file in (ROOT / "scenes").glob("*.yml"))
    assert re.findall(r"pictures/gallery/(\w+)\.webp", page) == scenes, "run `python docs/gallery.py`"
    for scene in scenes:
        assert (ROOT / f"docs/pictures/gallery/{scene}.webp").is_file()


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_links_outside_of_the_site_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        file, _, place = target.partition("#")
        assert (ROOT / file).exists(), f"{page}: {target}"
        if place:
            headings = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert place in names, f"{page}: {target}"


def _run(name, text):
    example = doctest.DocTestParser().get_doctest(text, {"qs": qs, "np": np}, name, name, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(example, out=said.append)
    assert result.failed == 0, "".join(said)


def test_stubs_and_sources_are_shipped():
    folder = Path(qs.__file__).parent
    assert (folder / "py.typed").is_file() and (folder / "_core.pyi").is_file()
