"""The `labbook` command. Each command is a function in a module that is imported when it is called.

Exit codes: 0 all well, 1 something failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from helpers import paths


def choose_stock(stock: bool) -> bool:
    """Puts the choice where the run finds it, and what remembers runs."""
    if stock:
        os.environ["LABBOOK_KERNELS"] = "stock"
    return stock


app = typer.Typer(
    help="The lab book: a course on how PyTorch works inside.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help, and no import of rich
    pretty_exceptions_enable=False,
)

Labs = Annotated[list[str] | None, typer.Argument(metavar="NN", help="lab numbers such as 03; none: all")]
Force = Annotated[
    bool,
    typer.Option("--force", envvar="LABBOOK_FORCE", show_envvar=False, help="skip nothing"),
]
Stock = Annotated[
    bool,
    typer.Option("--stock", callback=choose_stock, help="fresh kernels, none forked from a loaded process"),
]
Check = Annotated[bool, typer.Option("--check", help="change nothing, fail on any difference")]


def finish(
    module: str, function: str, *args: object, labs: Sequence[str] | None = None, **options: object
) -> None:
    """Calls `module.function(paths.ROOT, ...)` and ends the command with the exit code that it returns.

    A error that a person can mend is one line. `labs`, if not None, are lab numbers: unknown ones are
    wrong usage.
    """
    from ci.notebooks.files import Problem, WrongUse, notebooks

    try:
        if labs is not None:
            # Looked up first: a number that nobody knows stops the command before anything runs.
            notebooks(paths.SOLUTIONS, labs)
            args = (labs, *args)
        code = getattr(importlib.import_module(module), function)(paths.ROOT, *args, **options)
    except WrongUse as problem:
        raise typer.BadParameter(str(problem)) from None
    except Problem as problem:
        typer.echo(f"labbook: {problem}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(code)


@app.command()
def doctor() -> None:
    """Check this machine; one fix for each thing that is wrong."""
    finish("helpers.doctor", "doctor")


@app.command()
def lab() -> None:
    """Open JupyterLab on the start page, with your copies in work/."""
    finish("helpers.work.serve", "lab")


@app.command()
def update() -> None:
    """Merge a newer course into your copies; your work stays."""
    finish("helpers.work.update", "update")


@app.command()
def reset(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NN-or-ID", help="labs (03) or exercises (03.conv2d)")
    ] = None,
) -> None:
    """Put labs or exercises back, after a backup."""
    finish("helpers.work.reset", "reset", names or [])


@app.command()
def undo() -> None:
    """Take the last update or reset back."""
    finish("helpers.work.undo", "undo")


@app.command()
def status() -> None:
    """Tell what you have solved, what is next, and what has changed."""
    finish("helpers.work.status", "status")


@app.command()
def derive(check: Check = False) -> None:
    """Write labs/ from solutions/."""
    finish("ci.notebooks.derive", "derive", check=check)


@app.command("format")
def format_notebooks(check: Check = False) -> None:
    """Bring notebooks into the form in which they are stored."""
    finish("ci.notebooks.canonical", "format_notebooks", check=check)


@app.command()
def run(labs: Labs = None, force: Force = False, stock: Stock = False) -> None:
    """Run notebooks of solutions/ and store their outputs."""
    finish("ci.headless.run", "run", labs=labs or [], force=force)


@app.command()
def validate(labs: Labs = None, force: Force = False, stock: Stock = False) -> None:
    """Run notebooks of solutions/ and compare with the stored outputs."""
    finish("ci.headless.validate", "validate", labs=labs or [], force=force)


@app.command()
def portable(
    labs: Labs = None,
    unseen: Annotated[bool, typer.Option("--unseen", help="list also the numbers that no probe saw")] = False,
    stock: Stock = False,
) -> None:
    """Try other settings, and look for digits near an edge."""
    finish("ci.headless.portable", "portable", labs=labs or [], unseen=unseen)


@app.command("labs")
def unsolved_labs(labs: Labs = None, force: Force = False, stock: Stock = False) -> None:
    """Run labs unsolved; every exercise must say "not attempted"."""
    finish("ci.headless.labs", "labs", labs=labs or [], force=force)


@app.command("test")
def run_tests(labs: Labs = None) -> None:
    """Prove labs: all tests that belong to them; none: all."""
    finish("ci.checkout.test", "test", labs=labs or [])


@app.command()
def facts(
    labs: Labs = None,
    ledger: Annotated[
        Path | None, typer.Option(help="list what of this ledger is not covered, and why")
    ] = None,
) -> None:
    """Check the facts that the labs rest on, on the installed torch."""
    finish("ci.facts.command", "facts", labs=labs or [], ledger=ledger)


@app.command()
def new(
    id: Annotated[str, typer.Argument(metavar="ID", help="of the exercise: 19.double")],
    lab: Annotated[str, typer.Option(help="the name of a lab that is not there yet: allocators")] = "",
) -> None:
    """Write the files of an exercise that is to be written."""
    finish("ci.new.command", "new", id, lab=lab)


@app.command()
def messages(labs: Labs = None) -> None:
    """Keep what the checks say of each known mistake, to be read."""
    finish("ci.messages.command", "messages", labs=labs or [])


@app.command()
def mutants(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NN-or-ID", help="labs (03) or exercises (03.conv2d); none: all that are done"
        ),
    ] = None,
) -> None:
    """Edit right answers, and find those that a check accepts."""
    finish("ci.mutants.command", "command", names or [])


@app.command()
def bench(
    rows: Annotated[
        list[str] | None, typer.Argument(metavar="ROW", help="rows to measure, or all; none: list them")
    ] = None,
) -> None:
    """Measure, print a table, and store it in .labbook/bench/."""
    finish("ci.bench.command", "bench", rows or [])


@app.command()
def record(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="measurements, or numbers of labs; none: all")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="only list the measurements")] = False,
    commit: Annotated[str, typer.Option(help="the commit of this code, where it is no checkout")] = "",
) -> None:
    """Measure on the GPU at hand, and store it in data/recordings/."""
    finish("ci.record.command", "record", names or [], listed=listed, commit=commit)


def main() -> None:
    """Runs the command that the command line names, and ends the process with its exit code."""
    try:
        app(prog_name="labbook")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has left
        sys.stderr.close()
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
