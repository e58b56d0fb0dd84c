"""What of work/ is open in JupyterLab now."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVERS = (
    ".servers"  # in work/: `labbook lab` notes its server there, since it may know another runtime folder
)
PATIENCE = 2  # seconds for one answer


@dataclass(frozen=True)
class Opened:
    """names: the notebooks of work/ that are open. doubt: why that is not known for sure, or ""."""

    names: frozenset[str] = frozenset()
    doubt: str = ""

    def refusal(self, name: str, command: str) -> str:
        """Why a notebook is not touched now, and what to do; "" if it may be."""
        if name in self.names:
            return (
                "open in JupyterLab, so it was left alone. Save it and close it there "
                f"(File, Close and Shut Down Notebook), then run {command} again. If no tab shows it, its kernel still "
                "runs: shut it down in the panel Running Terminals and Kernels, at the left."
            )
        return self.doubt and f"left alone. {self.doubt} Then run {command} again."


def opened(work: Path) -> Opened:
    """The notebooks of work/ that a running server has a kernel for, or that its saved layout shows."""
    notebooks = {Path(os.path.realpath(path)): path.name for path in work.glob("*.ipynb")}
    names, doubt = set(), ""
    for server in servers(work):
        root = Path(os.path.realpath(server.get("root_dir") or "/"))
        try:
            shown = {Path(os.path.realpath(root / path.removeprefix("RTC:"))) for path in open_paths(server)}
        except (OSError, ValueError, TypeError, AttributeError, http.client.HTTPException) as error:
            # work/ may be a link that leads out of the folder that is served, and is served through it.
            places = (Path(os.path.realpath(work)), Path(os.path.realpath(work.parent)) / work.name)
            if not _is_gone(error) and any(place.is_relative_to(root) for place in places):
                doubt = (
                    f"JupyterLab at {server.get('url')} does not say what is open in it. "
                    f"Stop it (Ctrl-C where it was started, or end process {server.get('pid')})."
                )
            continue
        names |= {notebooks[path] for path in shown & notebooks.keys()}
    return Opened(frozenset(names), doubt)


def servers(work: Path) -> list[dict[str, Any]]:
    """What is known of each running server: url, token, root_dir, pid."""
    from jupyter_core.paths import jupyter_runtime_dir
    from jupyter_server.serverapp import list_running_servers

    found: dict[Any, dict[str, Any]] = {}
    for folder in (jupyter_runtime_dir(), str(work / SERVERS)):
        try:
            for server in list_running_servers(folder):
                found[server["pid"], server.get("url")] = server
        except (OSError, ValueError, TypeError, KeyError):
            continue  # a file there is damaged; JupyterLab itself would stop here, too
    return list(found.values())


def open_paths(server: dict[str, Any]) -> Iterator[str]:
    """The paths of the notebooks that are open in a server, from its root.

    Raises: OSError and others, if it does not answer.
    """
    for session in _answer(server, "api/sessions"):
        yield str(session.get("path") or "")
    try:
        saved = _answer(server, "lab/api/workspaces")["workspaces"]["values"]
    except urllib.error.HTTPError as error:
        if error.code != 404:  # a server without JupyterLab
            raise
        return
    for workspace in saved:
        # "notebook:work/03_autograd.ipynb": {"data": {"path": "work/03_autograd.ipynb", "factory": "Notebook"}}
        for entry in workspace["data"].values():
            data = entry.get("data") if isinstance(entry, dict) else None
            if isinstance(data, dict) and isinstance(data.get("path"), str):
                yield data["path"]


def direct() -> urllib.request.OpenerDirector:
    """Opens addresses without a proxy: a server of this machine needs none."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _answer(server: dict[str, Any], what: str) -> Any:
    request = urllib.request.Request(server["url"] + what)
    if server.get("token"):
        request.add_header("Authorization", f"token {server['token']}")
    with direct().open(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def _is_gone(error: Exception) -> bool:
    """Whether nobody listens at the address: the file of a server that was killed, whose number another process has."""
    return isinstance(getattr(error, "reason", error), ConnectionRefusedError)
