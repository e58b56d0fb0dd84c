"""Plain HTML with inline styles, which needs no script and no trust.

An untrusted notebook drops <style>, <script> and every declaration that holds var(...), so a literal value stands
before each variable, and words carry the result. `data-lm-suppress-shortcuts` keeps JupyterLab from taking keys that
are typed while a <summary> has the focus ("dd" would delete the cell).
"""

from __future__ import annotations

import re
from html import escape

_FG = "color:#1f1f1f;color:var(--jp-ui-font-color1,#1f1f1f)"
FG2 = "color:#555;color:var(--jp-ui-font-color2,#555)"
_BG = "background:#fff;background:var(--jp-layout-color1,#fff)"
_LINE = "1px solid #ccc;border-color:var(--jp-border-color2,#ccc)"
MONO = "font-family:monospace;font-family:var(--jp-code-font-family,monospace)"
EDGE = {
    "passed": "#2e7d32;border-left-color:var(--jp-success-color1,#2e7d32)",
    "not attempted": "#757575;border-left-color:var(--jp-border-color1,#757575)",
}


def card(inside: str, edge: str, label: str) -> str:
    """A framed box around HTML. edge: CSS colour of the left border, with a literal value first."""
    return (
        f'<section role="group" aria-label="{escape(label)}" style="border:{_LINE};border-left:6px solid {edge};'
        f'border-radius:4px;{_BG};{_FG};padding:10px 14px;max-width:820px;font-size:13px;line-height:1.45;overflow-wrap:anywhere">'
        f"{inside}</section>"
    )


def box(inside: str, *, edge: str = EDGE["not attempted"]) -> str:
    """HTML with a coloured edge at its left: lighter than a card."""
    return f"<div style='border-left:6px solid {edge};padding:2px 12px;overflow-wrap:anywhere'>{inside}</div>"


def html_words(text: str) -> str:
    """Text as HTML, `code` set as code."""
    return re.sub(r"`([^`\n]+)`", rf'<code style="{MONO};font-size:inherit">\1</code>', escape(text))


def fold(title: str, inside: str) -> str:
    return (
        f'<details style="margin-top:8px"><summary data-lm-suppress-shortcuts="true" style="cursor:pointer;list-style:none">'
        f"\u25b8 {escape(title)}</summary>{inside}</details>"
    )


def preformatted(text: str) -> str:
    return f'<pre style="{MONO};white-space:pre-wrap;margin:4px 0">{escape(text)}</pre>'
