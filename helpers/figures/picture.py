"""A figure that nothing moves: a PNG, with words for those who do not see it.

A live JupyterLab shows HTML, the only form in which it reads the words aloud. What is stored is the PNG with the words
beside it: GitHub and nbconvert show that.
"""

from __future__ import annotations

import base64
import io
import os
from html import escape
from typing import Any

from matplotlib.figure import Figure

DPI = 100


def png(figure: Figure) -> bytes:
    """A figure as PNG, without the date and the program that would make the bytes differ."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def image_html(picture: bytes, alt: str) -> str:
    """A PNG as an HTML image."""
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'


def bundle(picture: bytes, alt: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What is stored of a figure, and its metadata: the PNG and what is seen, in words."""
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": f"[figure] {alt}"}
    return data, {"image/png": {"alt": alt}}


class Picture:
    """A matplotlib figure to display. alt: one or two sentences that say what is seen, without numbers that may differ
    between machines.
    """

    def __init__(self, figure: Figure, *, alt: str) -> None:
        self.png, self.alt = png(figure), alt

    def __repr__(self) -> str:
        return f"[figure] {self.alt}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = bundle(self.png, self.alt)
        if os.environ.get("LABBOOK_HEADLESS") != "1":
            data["text/html"] = image_html(self.png, self.alt)
        return data, metadata
