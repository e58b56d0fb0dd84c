"""A notebook that is open in JupyterLab is refused by name. The server is real, and started as a learner starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import paths
from helpers.work import opened, reset, undo, update
from tests.support import work_projects as tiny
from tests.support.work_projects import ANSWER, MORE, SEED, Project

START = "import sys, pathlib; from helpers.work import serve; sys.exit(serve.lab(pathlib.Path(sys.argv[1])))"
REFUSED = (
    "open in JupyterLab, so it was left alone. Save it and close it there "
    "(File, Close and Shut Down Notebook), then run {command} again."
)


class Server:
    """`labbook lab` on a tiny project. Its runtime folder is not the one of the tests."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root / "project").begin()
        self.runtime = root / "runtime"
        names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")
        folders = {name: str(root / name.lower()) for name in names}
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(self.project.root)],
            cwd=paths.ROOT,
            env={
                **os.environ,
                **folders,
                "JUPYTER_RUNTIME_DIR": str(self.runtime),
                "LABBOOK_NO_BROWSER": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        found = next(
            match
            for line in self.process.stdout
            if (match := re.search(r"(http://127\S+?/)lab/.*token=(\w+)", line))
        )
        self.url, self.token = found.groups()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def ask(self, method: str, what: str, data: Any = None) -> Any:
        """One request to the server."""
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.url + what, body, method=method)
        request.add_header("Authorization", f"token {self.token}")
        with opened.direct().open(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def open_kernel(self, path: str) -> None:
        """What JupyterLab does when a notebook is opened."""
        asked = {"path": path, "name": Path(path).name, "type": "notebook", "kernel": {"name": "python3"}}
        self.ask("POST", "api/sessions", asked)

    def save_layout(self, *paths: str) -> None:
        """What JupyterLab does a moment later: these notebooks are shown."""
        shown = {f"notebook:{path}": {"data": {"path": path, "factory": "Notebook"}} for path in paths}
        recent = [{"path": f"work/{MORE}", "contentType": "notebook", "factory": "Notebook"}]
        shown |= {"docmanager:recents": {"opened": recent, "closed": []}}
        shown |= {"file-browser-filebrowser:cwd": {"path": "work"}}
        self.ask("PUT", "lab/api/workspaces/default", {"data": shown, "metadata": {"id": "default"}})

    def close_all(self) -> None:
        """Every notebook is closed, and its kernel ended."""
        for session in self.ask("GET", "api/sessions"):
            self.ask("DELETE", f"api/sessions/{session['id']}")
        self.save_layout()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("open"))
    try:
        yield server
    finally:
        server.process.send_signal(signal.SIGINT)
        server.process.wait(120)


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """The server with nothing open, and a learner whose course has gone on."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    running.close_all()
    project = running.project
    project.write("labs", SEED, tiny.notebook(*json.loads(json.dumps(tiny.SEEDS))))
    project.write("labs", MORE, tiny.notebook(*json.loads(json.dumps(tiny.SECOND))))
    assert reset.reset(project.root, ["01", "02"]) == 0
    project.learn().go_on()
    return running


def test_open_by_its_kernel(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    project = server.project
    server.open_kernel(f"work/{SEED}")
    before = project.notebooks()[SEED]
    assert update.update(project.root) == 1
    output = capsys.readouterr().out
    assert f"{SEED}: {REFUSED.format(command='labbook update')}" in output
    assert project.notebooks()[SEED] == before and "news" in project.ids(MORE), "the other lab goes on"
    assert reset.reset(project.root, ["01.seed"]) == 1
    assert f"{SEED}: {REFUSED.format(command='labbook reset 01.seed')}" in capsys.readouterr().out
    assert project.notebooks()[SEED] == before
    server.close_all()
    assert update.update(project.root) == 0
    assert ANSWER in project.source("seed") and "seed-read" in project.ids()


def test_open_by_the_saved_layout(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    project = server.project
    server.save_layout(f"work/{SEED}")
    before = project.notebooks()[SEED]
    assert update.update(project.root) == 1
    assert f"{SEED}: open in JupyterLab" in capsys.readouterr().out
    assert project.notebooks()[SEED] == before and "news" in project.ids(MORE)


def test_undo_does_all_or_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    project = server.project
    assert update.update(project.root) == 0
    before = project.notebooks()
    server.open_kernel(f"work/{SEED}")
    capsys.readouterr()
    assert undo.undo(project.root) == 1
    output = capsys.readouterr().out
    assert f"{SEED}: {REFUSED.format(command='labbook undo')}" in output and "Nothing was changed." in output
    assert project.notebooks() == before


def test_a_lab_with_the_same_name_elsewhere_is_another_one(server: Server) -> None:
    (server.project.root / "elsewhere").mkdir(exist_ok=True)
    server.open_kernel(f"elsewhere/{SEED}")
    server.save_layout(f"labs/{SEED}")
    assert opened.opened(server.project.work) == opened.Opened()


def test_open_under_the_name_of_a_link(server: Server) -> None:
    link = server.project.root / "link.ipynb"
    link.symlink_to(server.project.work / SEED)
    try:
        server.save_layout("link.ipynb")
        assert opened.opened(server.project.work).names == {SEED}
    finally:
        link.unlink()


@pytest.mark.parametrize("known", ["by Jupyter", "by the project"])
def test_server_is_found_in_either_place(server: Server, monkeypatch: pytest.MonkeyPatch, known: str) -> None:
    if known == "by Jupyter":
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(server.runtime))
        monkeypatch.setattr(opened, "SERVERS", "nowhere")
    assert [found["url"] for found in opened.servers(server.project.work)] == [server.url]


def test_a_proxy_is_not_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.save_layout(f"work/{SEED}")
    assert opened.opened(server.project.work).names == {SEED}


def note(server: Server, **other: Any) -> dict[str, Any]:
    """What is known of the server, with something else in it."""
    known = {
        "url": server.url,
        "token": server.token,
        "root_dir": str(server.project.root),
        "pid": os.getpid(),
    }
    return known | other


def test_a_server_that_does_not_let_us_in_might_have_anything_open(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(opened, "servers", lambda work: [note(server, token="wrong")])
    before = server.project.notebooks()
    assert update.update(server.project.root) == 1
    output = capsys.readouterr().out
    assert (
        f"{SEED}: left alone. JupyterLab at {server.url} does not say what is open in it. Stop it" in output
    )
    assert server.project.notebooks() == before
    elsewhere = note(server, token="wrong", root_dir=str(server.runtime))
    monkeypatch.setattr(opened, "servers", lambda work: [elsewhere])
    assert opened.opened(server.project.work) == opened.Opened()


def test_a_server_that_hangs_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        monkeypatch.setattr(opened, "servers", lambda work: [note(server, url=url)])
        assert "does not say what is open" in opened.opened(server.project.work).doubt


def test_a_server_that_was_killed_is_no_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is still there, and its number has gone to another process."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}/"
    runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
    (runtime / "jpserver-1.json").write_text(json.dumps(note(server, url=url)))
    (runtime / "jpserver-2.json").write_text(json.dumps(note(server, url=url, pid=2**22 + 1)))
    (runtime / "jpserver-3.json").write_text('{"url": ')
    assert opened.opened(server.project.work) == opened.Opened()


def test_a_server_without_jupyterlab_has_no_layout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(server: dict[str, Any], what: str) -> Any:
        if what == "api/sessions":
            return [{"path": "work/01_seeds.ipynb"}, {"path": "RTC:work/02_more.ipynb"}]
        raise urllib.error.HTTPError("", 404, "not found", None, None)

    monkeypatch.setattr(opened, "_answer", answer)
    assert list(opened.open_paths({})) == ["work/01_seeds.ipynb", "RTC:work/02_more.ipynb"]
    for name in (SEED, MORE):
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / name).touch()
    monkeypatch.setattr(opened, "servers", lambda work: [{"root_dir": str(tmp_path)}])
    assert opened.opened(tmp_path / "work").names == {SEED, MORE}
