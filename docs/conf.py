"""Settings of the site: `cargo xtask site` builds it from this folder."""

import re
from functools import partialmethod
from pathlib import Path

import quasistep
from docutils import nodes
from docutils.utils.math import latex2mathml
from nbclient import NotebookClient
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

DOCS = Path(__file__).parent

project = "quasistep"
author = "the quasistep developers"
version = release = quasistep.__version__
html_title = f"quasistep {version}"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["data"]

html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]

# links to headings, as GitHub makes them
myst_heading_anchors = 4

# tutorials run when the site is built; a cell that fails is an error
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
# pieces of a cell's output are one text
NotebookClient.__init__ = partialmethod(NotebookClient.__init__, coalesce_streams=True)

# shapes such as (T, n_u) in docstrings name no object
suppress_warnings = ["ref.python"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
html_math_renderer = "mathml"


def _file_links(_app, name, source):
    """Makes links to files outside of this folder downloads: the site has copies of them."""
    folder = (DOCS / name).parent

    def link(found):
        target = folder / found[2]
        inside = target.resolve().is_relative_to(DOCS)
        return found[0] if inside or not target.is_file() else f"{{download}}`{found[1]} <{found[2]}>`"

    source[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)#]+)\)", link, source[0])


def _formula(self, node):
    """Writes a formula as MathML, which browsers draw without a script."""
    self.body.append(latex2mathml.tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


class Keys(SphinxTransform):
    """Puts keys of the scene format into the index, which the search looks at first: rows of tables with a key in front."""

    default_priority = 800

    def apply(self):
        if not self.env.docname.startswith("scene"):
            return
        for row in self.document.findall(nodes.row):
            if isinstance(row.parent, nodes.thead):
                continue
            for literal in row[0].findall(nodes.literal):
                text = literal.astext()
                # `{at: t, coordinate: arm.elbow}` has two keys
                for key in re.findall(r"(\w+)(?=:)", text) or re.findall(r"^\w+", text):
                    name = f"key-{key}"
                    if name in self.document.ids:
                        continue
                    literal["ids"].append(name)
                    self.document.ids[name] = literal
                    row[0].insert(0, addnodes.index(entries=[("single", key, name, "main", None)]))


class CellMagics(SphinxTransform):
    """Shows `%%sh` cells as shell commands and `%%writefile` cells as the file that they write."""

    default_priority = 800

    def apply(self):
        for block in self.document.findall(nodes.literal_block):
            first, _, rest = block.astext().partition("\n")
            if first.startswith("%%sh"):
                language = "sh"
            elif first.startswith("%%writefile "):
                name = first.split()[1]
                language = name.rsplit(".")[-1].replace("yml", "yaml")
                block.parent.insert(block.parent.index(block), nodes.paragraph("", "", nodes.literal("", name)))
            else:
                continue
            block["language"] = language
            block.children = [nodes.Text(rest)]
            block.rawsource = rest


def setup(app):
    app.add_transform(Keys)
    app.add_transform(CellMagics)
    app.connect("source-read", _file_links)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
