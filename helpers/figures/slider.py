"""A figure with a slider: the shell around a pure function that draws.

One output holds three forms of the same: the widget for a live kernel, a PNG for everything that runs no widget
(GitHub, nbconvert, an untrusted copy), and a text that says what is seen. No pyplot, so no figure is left open.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from matplotlib.figure import Figure

WIDGET = "application/vnd.jupyter.widget-view+json"
DPI = 100
FEW = 20  # pictures, drawn beforehand in two seconds


def png(figure: Figure) -> bytes:
    """A figure as PNG, without the date and the program that would make the bytes differ."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


class SliderFigure:
    """A figure that follows a slider over a list of values.

    draw: from a value to the figure, in 0.1 s or so. It is called once for each value; in a live notebook for all
        of them at once, if they are few, so that the slider answers without delay.
    values: what the slider runs over; shown as text.
    start: the value at first, and the one in the static picture.
    label: what the slider moves, shown beside it.
    alt: from a value to one or two sentences that say what is seen. They are compared when the notebook is
        validated, so they hold no number that may differ between machines.
    """

    def __init__(
        self,
        draw: Callable[[Any], Figure],
        values: Sequence[Any],
        *,
        start: Any,
        label: str,
        alt: Callable[[Any], str],
    ) -> None:
        if start not in values:
            raise ValueError(f"the slider cannot start at {start!r}: it runs over {list(values)}")
        self.draw, self.values, self.start = draw, list(values), start
        self.label, self.alt = label, alt
        self._drawn: dict[Any, bytes] = {}

    def picture(self, value: Any) -> bytes:
        """The figure for a value, as PNG; drawn once."""
        if value not in self._drawn:
            self._drawn[value] = png(self.draw(value))
        return self._drawn[value]

    def image(self, value: Any) -> str:
        """The figure for a value as HTML: a picture with words for those who do not see it."""
        source = base64.b64encode(self.picture(value)).decode()
        return f'<img alt="{escape(self.alt(value))}" src="data:image/png;base64,{source}">'

    def widget(self) -> Any:
        """The slider over the picture: an ipywidgets box. The arrow keys move the slider."""
        import ipywidgets as widgets

        if len(self.values) <= FEW:
            for value in self.values:
                self.picture(value)
        slider = widgets.SelectionSlider(
            options=[(str(value), value) for value in self.values],
            value=self.start,
            description=self.label,
            style={"description_width": "initial"},
            layout=widgets.Layout(width="min(600px, 98%)"),
        )
        picture = widgets.HTML(self.image(self.start))

        def follow(change: Any) -> None:
            picture.value = self.image(change["new"])

        slider.observe(follow, "value")
        return widgets.VBox([slider, picture])

    def __repr__(self) -> str:
        return f"[figure] {self.alt(self.start)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        """What is displayed; with LABBOOK_HEADLESS=1 the picture and its text only."""
        data = {"image/png": base64.b64encode(self.picture(self.start)).decode(), "text/plain": repr(self)}
        if os.environ.get("LABBOOK_HEADLESS") != "1":
            made = self.widget()._repr_mimebundle_()
            view = made[0] if isinstance(made, tuple) else made
            data[WIDGET] = view[WIDGET]
        return data, {"image/png": {"alt": self.alt(self.start)}}
