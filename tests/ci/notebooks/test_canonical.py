"""The stored form of notebooks, and which bytes a fresh run keeps."""

from __future__ import annotations

import base64
import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from nbformat.v4 import new_output
from PIL import Image

from ci.headless.stored import CHANGES, as_stored, looks_same, sanitized
from ci.headless.validate import require_counts, thin
from ci.notebooks.canonical import WIDGET, canonical, format_notebooks, notebook_text
from ci.notebooks.files import Problem, notebooks, read, write
from tests.support.project import code, exercise_project, notebook, output_of, store, text


def printed(description: str, name: str = "stdout"):
    return new_output("stream", name=name, text=description)


def shown(**data: str):
    return new_output("display_data", data={kind.replace("_", "/"): value for kind, value in data.items()})


def picture(level: int = 0, dot: int = 0) -> str:
    pixels = np.full((40, 50, 4), 200, dtype=np.uint8)
    pixels[..., 0] += level
    pixels[:dot, :dot] = 0
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def ran(name: str, *outputs, tags: tuple[str, ...] = ()):
    cell = code(name, "1", *tags)
    cell.outputs, cell.execution_count = list(outputs), 1
    return cell


def tidy(*outputs) -> list:
    return canonical(notebook(ran("one", *outputs)), solved=True).cells[0].outputs


def stored(fresh, old, root: Path = Path("/nowhere")) -> list:
    """The outputs that are stored when a cell with `old` outputs is run again and gives `fresh`."""
    return as_stored(notebook(fresh), notebook(old), root)[1].cells[0].outputs


def test_streams_between_displays_are_joined_stdout_first():
    pieces = printed("a\n"), printed("oh\n", "stderr"), printed("b\n"), shown(text_plain="x"), printed("c\n")
    assert [o.get("text") for o in tidy(*pieces)] == ["a\nb\n", "oh\n", None, "c\n"]


def test_widgets_go_and_what_stands_beside_them_stays():
    view = new_output(
        "display_data", data={WIDGET: {"model_id": "7f"}, "image/png": "aa", "text/plain": "fig"}
    )
    alone = new_output("display_data", data={WIDGET: {"model_id": "7f"}})
    assert [dict(o.data) for o in tidy(view, alone)] == [{"image/png": "aa", "text/plain": "fig"}]


def test_metadata_of_a_run_go_and_tags_stay():
    cell = ran("one", tags=("volatile",))
    cell.metadata |= {
        "execution": {"iopub.status.idle": "now"},
        "papermill": {"duration": 1},
        "collapsed": True,
    }
    book = notebook(cell)
    book.metadata |= {"papermill": {}, "widgets": {}, "kernelspec": {"name": "mine", "display_name": "Mine"}}
    result = canonical(book, solved=True)
    assert result.cells[0].metadata == {"tags": ["volatile"]}
    assert result.metadata.kernelspec.name == "python3" and set(result.metadata) == {
        "kernelspec",
        "language_info",
    }


def test_a_lab_keeps_neither_outputs_nor_counts():
    cell = canonical(notebook(ran("one", printed("x"))), solved=False).cells[0]
    assert cell.outputs == [] and cell.execution_count is None


def test_the_text_is_plain_utf8_with_one_newline_at_the_end():
    written = notebook_text(canonical(notebook(text("title", "Grüße\r\nzwei\n")), solved=True))
    assert "Grüße\\n" in written and "\\r" not in written and written.endswith("}\n")


def test_an_exception_in_a_solution_is_refused():
    error = new_output("error", ename="ValueError", evalue="bad", traceback=[])
    with pytest.raises(Problem, match="cell one: a solution may not raise: ValueError: bad"):
        tidy(error)


def test_format_check_names_file_and_first_difference(tmp_path: Path):
    root = exercise_project(tmp_path)
    store(root / "labs/01_add.ipynb", text("title", "Hello."))
    lab = root / "labs/01_add.ipynb"
    lab.write_text(lab.read_text().replace('"Python 3 (ipykernel)"', '"mine"'))
    code, heard = output_of(lambda: format_notebooks(root, check=True))
    assert code == 1 and "labs/01_add.ipynb is not in canonical form" in heard
    assert '"mine"' in heard and "Python 3 (ipykernel)" in heard


def test_format_mends_what_its_check_finds(tmp_path: Path):
    root = exercise_project(tmp_path)
    store(root / "labs/01_add.ipynb", text("title", "Hello."))
    solution = root / "solutions/01_add.ipynb"
    solution.write_bytes(json.dumps(json.loads(solution.read_text())).replace("\n", "\r\n").encode())
    assert output_of(lambda: format_notebooks(root, check=True))[0] == 1
    assert output_of(lambda: format_notebooks(root, check=False))[0] == 0
    assert output_of(lambda: format_notebooks(root, check=True)) == (
        0,
        "format: 2 notebooks are in canonical form\n",
    )


def test_carriage_returns_are_not_canonical(tmp_path: Path):
    root = exercise_project(tmp_path)
    store(root / "labs/01_add.ipynb", text("title", "Hello."))
    solution = root / "solutions/01_add.ipynb"
    solution.write_bytes(solution.read_bytes().replace(b"\n", b"\r\n"))
    assert output_of(lambda: format_notebooks(root, check=True))[0] == 1


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ("{", "line 1: this is not valid JSON"),
        ("[]", "it has no list of cells"),
        ('{"cells": [{"cell_type": "code"}]}', "cell 1 of 1 has no id"),
        ('{"cells": [{"id": "one"}, {"id": "one"}]}', "cell one: two cells have this id"),
        ('{"cells": [], "nbformat": 4, "nbformat_minor": 4}', "older than format 4.5"),
        (
            '{"cells": [{"id": "one"}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
            "not a valid notebook",
        ),
    ],
)
def test_a_broken_notebook_is_told_in_one_line(tmp_path: Path, raw: str, what: str):
    path = tmp_path / "01_add.ipynb"
    path.write_text(raw)
    with pytest.raises(Problem, match=r"^01_add.ipynb") as raised:
        read(path, tmp_path)
    assert what in str(raised.value) and "\n" not in str(raised.value)


def test_an_unknown_lab_says_which_there_are(tmp_path: Path):
    exercise_project(tmp_path)
    with pytest.raises(Problem, match="no lab 07 in solutions/: there are 01"):
        notebooks(tmp_path / "solutions", ["7"])


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "01_add.ipynb"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        Problem, match="01_add.ipynb: could not be written, and is as it was: the disk is full"
    ):
        write(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_volatile_text_is_stored_as_one_line():
    fresh = ran(
        "one", printed("1.23 s"), shown(text_plain="<Figure>", image_png=picture()), tags=("volatile",)
    )
    assert [dict(o) for o in stored(fresh, ran("one", tags=("volatile",)))] == [dict(printed(CHANGES))]


def test_a_volatile_cell_that_shows_nothing_stores_nothing():
    assert stored(ran("one", tags=("volatile",)), ran("one", tags=("volatile",))) == []


def test_a_recorded_picture_of_a_volatile_cell_is_stored():
    tags = ("volatile", "recorded")
    fresh = ran("one", shown(text_plain="<Figure>", image_png=picture()), tags=tags)
    assert [o.output_type for o in stored(fresh, ran("one", tags=tags))] == ["display_data"]


def test_a_picture_that_looks_the_same_keeps_its_bytes():
    old, new = picture(), picture(level=0, dot=0)
    recompressed = base64.b64encode(base64.b64decode(new)).decode() + "\n"
    [output] = stored(ran("one", shown(image_png=recompressed)), ran("one", shown(image_png=old)))
    assert output.data["image/png"] == old


def test_a_picture_that_looks_different_is_replaced():
    new = picture(dot=3)
    [output] = stored(ran("one", shown(image_png=new)), ran("one", shown(image_png=picture())))
    assert output.data["image/png"] == new


def test_pictures_are_alike_within_the_tolerance_only():
    assert looks_same(picture(), picture()) and not looks_same(picture(), picture(level=1))
    assert not looks_same(picture(), "bm90IGEgcGljdHVyZQ==")


def test_addresses_and_places_are_stored_without_what_changes():
    assert sanitized("<Net at 0x7f3a12b4c5d0>") == "<Net at 0x...>"
    assert sanitized("/tmp/ipykernel_81/3.py:2: UserWarning") == "cell.py:2: UserWarning"
    assert (
        sanitized("File /home/me/.venv/lib/site-packages/torch/x.py") == "File .../site-packages/torch/x.py"
    )
    assert sanitized(sanitized("at 0x7f3a12b4c5d0")) == sanitized("at 0x7f3a12b4c5d0")
    assert sanitized("seed 0xdeadbeef") == "seed 0xdeadbeef"


@pytest.mark.parametrize("words", ["/somewhere/data/digits", "'/somewhere'", "/somewhere\n"])
def test_a_path_of_this_machine_is_refused(words: str):
    with pytest.raises(Problem, match="cell one: the output holds a path of this machine"):
        stored(ran("one", printed(words)), ran("one"), Path("/somewhere"))


@pytest.mark.parametrize("words", ["/somewhere-else/data", "/somewheres"])
def test_another_path_is_none_of_this_machine(words: str):
    stored(ran("one", printed(words)), ran("one"), Path("/somewhere"))


def test_a_gpus_output_is_kept_where_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ci.headless.stored.has_gpu", lambda: False)
    old, fresh = (
        ran("one", printed("on a GPU\n"), tags=("gpu",)),
        ran("one", printed("on a CPU\n"), tags=("gpu",)),
    )
    assert stored(fresh, old)[0].text == "on a GPU\n"
    assert stored(fresh, ran("one", tags=("gpu",)))[0].text == "on a CPU\n"
    monkeypatch.setattr("ci.headless.stored.has_gpu", lambda: True)
    assert stored(fresh, old)[0].text == "on a CPU\n"


@pytest.mark.parametrize(("counts", "cell"), [((1, None), "two"), ((2, 3), "one"), ((1, 1), "two")])
def test_cells_that_were_not_run_in_order_are_refused(counts: tuple, cell: str):
    cells = ran("one"), ran("two")
    for one, count in zip(cells, counts, strict=True):
        one.execution_count = count
    with pytest.raises(Problem, match=f"cell {cell}: its execution count should be"):
        require_counts(notebook(*cells))


def test_too_few_compared_cells_are_listed():
    assert thin("x.ipynb", 5, {"clock": "volatile"}) == []
    [error] = thin("x.ipynb", 5, {"clock": "volatile", "wave": "needs a GPU"})
    assert "3 of 5 cells" in error and "clock (volatile), wave (needs a GPU)" in error
