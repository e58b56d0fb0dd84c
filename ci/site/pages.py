"""What the site's tool reads: one prepared notebook a lab, the pictures beside it, and the page that lists the labs."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ci.notebooks.files import PAGE, Problem, notebooks, number, read
from helpers.course.overview import Lab, lab_of
from helpers.course.progress import Progress
from helpers.course.summary import size_of

HERE = Path(__file__).parent
FIGURES = Path("_static", "figures")
# A lab's link, however the notebook names its folder: `](../labs/08_allreduce.ipynb`, `href="08_allreduce.ipynb`.
MARKDOWN_LINK = re.compile(r"(\]\()(?:[\w./]*/)?(\d\d_\w+)\.ipynb")
HTML_LINK = re.compile(r"(href=[\"'])(?:[\w./]*/)?(\d\d_\w+)\.ipynb")


def write_sources(root: Path, folder: Path) -> None:
    """Puts all that the tool reads into an empty folder.

    Raises:
        Problem: a notebook cannot be read, or a figure has no words for those who do not see it.
    """
    (folder / FIGURES).mkdir(parents=True)
    labs = [path for path in notebooks(root / "solutions") if number(path) != PAGE]
    for path in labs:
        notebook, figures = prepared(read(path, root), path.stem)
        nbformat.write(notebook, folder / path.name)
        for name, picture in figures.items():
            (folder / FIGURES / name).write_bytes(picture)
    for name in ("conf.py", "labbook.css"):
        target = folder / ("_static" if name.endswith("css") else "") / name
        target.write_bytes((HERE / name).read_bytes())
    (folder / "index.md").write_text(index(labs), encoding="utf-8")


def index(labs: Sequence[Path]) -> str:
    """The first page, in markdown: index.md of this folder, with each lab's title, link and question filled in."""
    entries = [lab_of(path, Progress()) for path in labs]
    listed = "\n".join("- " + "  \n  ".join(lines(lab)) for lab in entries)
    tree = "\n".join(f"{lab.number} {lab.title} <{Path(lab.file).stem}>" for lab in entries)
    text = (HERE / "index.md").read_text(encoding="utf-8")
    return text.replace("@LABS@", listed).replace("@TREE@", tree)


def lines(lab: Lab) -> list[str]:
    """What the first page says of a lab: its name as a link, its question, and its size where that is known."""
    return list(filter(None, [f"[{lab.number} {lab.title}]({lab.file})", lab.question, size_of(lab)]))


def prepared(notebook: NotebookNode, stem: str) -> tuple[NotebookNode, dict[str, bytes]]:
    """The notebook as the tool shall show it, and its pictures by file name.

    Links between labs go to pages; a figure is an <img> with the words that stand beside it in the output; a widget's
    view goes, since no page runs a kernel.
    """
    notebook.metadata.pop("widgets", None)
    figures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = MARKDOWN_LINK.sub(in_markdown, cell.source)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = _shown(output, f"{stem}-{cell.id}", figures)
    return notebook, figures


def _shown(output: NotebookNode, name: str, figures: dict[str, bytes]) -> dict[str, str]:
    """The one form of an output that the page shows. A picture is added to `figures`."""
    data = output.data
    if "image/png" in data:
        words = output.metadata.get("image/png", {}).get("alt", "")
        if not words.strip():
            raise Problem(
                "this figure has no text alternative (alt): see helpers/figures/slider.py", cell=name
            )
        file = f"{name}-{len(figures) + 1}.png"
        figures[file] = base64.b64decode(data["image/png"])
        return {
            "text/html": f'<img class="figure" src="{(FIGURES / file).as_posix()}" alt="{escape(words)}">'
        }
    if "text/html" in data:
        return {"text/html": HTML_LINK.sub(in_html, data["text/html"])}
    return {kind: description for kind, description in data.items() if kind == "text/plain"}


def in_markdown(link: re.Match) -> str:
    """A link to a lab in markdown, as one that the tool follows to a page."""
    return link[1] + ("index.md" if link[2].startswith(PAGE) else f"{link[2]}.ipynb")


def in_html(link: re.Match) -> str:
    """A link to a lab in HTML, as one to its page."""
    return link[1] + ("index" if link[2].startswith(PAGE) else link[2]) + ".html"
