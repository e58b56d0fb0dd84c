"""A waiting block hides an untouched stub, and nothing else."""

from __future__ import annotations

import linecache
from concurrent.futures import ProcessPoolExecutor

import pytest

from helpers import waits as module
from helpers.notebook.stubs import missing_exercise
from helpers.waits import expects, waits


def stub(*_: object) -> None:
    raise NotImplementedError("01.add")


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch):
    """Runs source as a notebook's cells do: in one namespace, each with its lines known to linecache."""
    monkeypatch.setattr(module, "_unbound", {})
    namespace = {"waits": waits, "expects": expects, "stub": stub}

    def run(source: str, name: str = "<cell>") -> dict:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
        return namespace

    return run


def test_an_untouched_stub_waits_in_one_line(capsys):
    with waits():
        stub()
    assert capsys.readouterr().out == "waits for 01.add\n"


def test_nothing_is_printed_when_the_answer_is_there(capsys):
    with waits():
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        NotImplementedError(),
        NotImplementedError("Module [Net] is missing the required forward"),
        NotImplementedError("see 01.add"),
        NameError("name 'x' is not defined", name="x"),
        TypeError("unsupported operand type(s) for +: 'int' and 'ellipsis'"),
        KeyboardInterrupt(),
    ],
)
def test_other_errors_go_on(error):
    with pytest.raises(type(error)), waits():
        raise error


def test_a_subclass_of_the_stubs_error_goes_on():
    class Odd(NotImplementedError):
        pass

    with pytest.raises(Odd), waits():
        raise Odd("01.add")


def test_a_stub_behind_another_error_waits(capsys):
    with waits():
        try:
            stub()
        except NotImplementedError as error:
            raise RuntimeError("the step failed") from error
    assert capsys.readouterr().out == "waits for 01.add\n"


def test_an_error_that_was_cut_from_the_stub_goes_on():
    with pytest.raises(RuntimeError), waits():
        try:
            stub()
        except NotImplementedError:
            raise RuntimeError("on its own") from None


def test_a_stub_in_a_dataloader_worker_waits(capsys):
    from torch.utils.data import DataLoader

    with waits():
        list(DataLoader([1, 2, 3], num_workers=1, worker_init_fn=stub))
    assert capsys.readouterr().out == "waits for 01.add\n"


def test_a_stub_in_a_process_waits(capsys):
    import multiprocessing

    with waits(), ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        pool.submit(stub).result()
    assert capsys.readouterr().out == "waits for 01.add\n"


def test_a_group_waits_only_if_a_stub_is_behind_each():
    stubs = [NotImplementedError("01.add"), NotImplementedError("01.mul")]
    assert missing_exercise(ExceptionGroup("two", stubs)) == "01.add"
    assert missing_exercise(ExceptionGroup("two", [stubs[0], ValueError("bad")])) is None


def test_a_value_that_is_still_ellipsis_waits_by_its_name(cell, capsys):
    cell("answer = ...\nwith waits(answer):\n    1 + answer")
    assert capsys.readouterr().out == "waits for answer\n"


def test_an_ellipsis_that_was_not_passed_goes_on(cell):
    with pytest.raises(TypeError):
        cell("answer = ...\nother = 1\nwith waits(other):\n    1 + answer")


def test_a_passed_ellipsis_hides_no_other_type_error(cell):
    with pytest.raises(TypeError, match="int"):
        cell("answer = ...\nwith waits(answer):\n    len(3)")


def test_a_name_that_an_earlier_block_would_have_bound_waits(cell, capsys):
    cell("with waits():\n    loss, (a, b) = stub()", "<one>")
    cell("with waits():\n    print(b)", "<two>")
    assert capsys.readouterr().out == "waits for 01.add\nwaits for 01.add\n"


def test_a_name_that_no_block_would_have_bound_goes_on(cell):
    cell("with waits():\n    loss = stub()", "<one>")
    with pytest.raises(NameError):
        cell("with waits():\n    print(los)", "<two>")


def test_a_name_that_is_missing_elsewhere_goes_on(cell):
    cell("with waits():\n    loss = stub()", "<one>")
    library = {}
    exec("def broken():\n    return loss", library)
    cell("", "<two>")["broken"] = library["broken"]
    with pytest.raises(NameError):
        cell("with waits():\n    broken()", "<three>")


def test_a_solved_block_forgets_its_names(cell):
    cell("with waits():\n    loss = stub()", "<one>")
    cell("with waits():\n    loss = 1", "<one again>")
    with pytest.raises(NameError):
        cell("del loss\nwith waits():\n    print(loss)", "<two>")


def test_an_expected_error_is_one_line(capsys):
    with expects(ZeroDivisionError) as seen:
        1 / 0  # noqa: B018
    assert capsys.readouterr().out == "ZeroDivisionError: division by zero\n"
    assert isinstance(seen.error, ZeroDivisionError)


def test_only_the_first_line_of_an_expected_error_is_shown(capsys):
    with expects(RuntimeError):
        raise RuntimeError("short\nframe #0: 0x7f")
    assert capsys.readouterr().out == "RuntimeError: short\n"


def test_an_expected_error_that_does_not_come_is_told():
    with (
        pytest.raises(AssertionError, match="expected ValueError, but nothing was raised"),
        expects(ValueError),
    ):
        pass


def test_another_error_than_the_expected_is_told():
    with pytest.raises(AssertionError, match="TypeError: bad"), expects(ValueError):
        raise TypeError("bad")


def test_a_stub_where_an_error_is_expected_waits(capsys):
    with waits(), expects(ValueError):
        stub()
    assert capsys.readouterr().out == "waits for 01.add\n"


def test_a_stub_does_not_count_as_an_expected_not_implemented_error():
    with pytest.raises(NotImplementedError), expects(NotImplementedError):
        stub()


def test_expects_refuses_what_is_no_exception():
    with pytest.raises(TypeError, match="exception classes"):
        expects("ValueError")
