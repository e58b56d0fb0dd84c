"""A figure with one slider or several: the shell around a pure function that draws.

One output holds three forms of the same: the widget for a live kernel, a PNG for everything that runs no widget
(GitHub, nbconvert, an untrusted copy), and a text that says what is seen. No pyplot, so no figure is left open.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from helpers.figures.picture import bundle, image_html, png

WIDGET = "application/vnd.jupyter.widget-view+json"
FEW = 20  # pictures that are drawn before the figure is shown, in two seconds or so
PAUSE = 0.05  # seconds between two pictures that are drawn ahead, for the kernel to see that it was asked for something


class SlidersFigure:
    """A figure that follows several sliders, each over a list of values.

    draw: from one value of each slider, in their order, to the figure, in 0.1 s or so. It is called once for each
        combination; in a live notebook for the nearest FEW at once, so that no slider waits, and for the others while
        the kernel has nothing to do.
    sliders: by what a slider moves, the values that it runs over; shown as text.
    start: the values at first, and those in the static picture.
    alt: from the same values to one or two sentences that say what is seen. They are compared when the notebook is
        validated, so they hold no number that may differ between machines.
    """

    def __init__(
        self,
        draw: Callable[..., Figure],
        sliders: Mapping[str, Sequence[Any]],
        *,
        start: Sequence[Any],
        alt: Callable[..., str],
    ) -> None:
        self.draw, self.alt = draw, alt
        self.sliders = {label: list(values) for label, values in sliders.items()}
        self.start = tuple(start)
        for value, (label, values) in zip(self.start, self.sliders.items(), strict=True):
            if value not in values:
                raise ValueError(f"the slider {label!r} cannot start at {value!r}: it runs over {values}")
        self._drawn: dict[tuple, bytes] = {}
        self._ahead: asyncio.TimerHandle | None = None

    def picture(self, *chosen: Any) -> bytes:
        """The figure for one value of each slider, as PNG; drawn once."""
        if chosen not in self._drawn:
            self._drawn[chosen] = png(self.draw(*chosen))
        return self._drawn[chosen]

    def image(self, *chosen: Any) -> str:
        """The figure for these values as HTML: a picture with words for those who do not see it."""
        return image_html(self.picture(*chosen), self.alt(*chosen))

    def nearest(self, chosen: Sequence[Any]) -> list[tuple]:
        """All combinations of values, those first that take the fewest steps of the sliders from the chosen one."""
        values = list(self.sliders.values())
        here = [options.index(value) for options, value in zip(values, chosen, strict=True)]

        def steps(place: tuple[int, ...]) -> int:
            return sum(abs(there - at) for there, at in zip(place, here, strict=True))

        places = sorted(itertools.product(*(range(len(options)) for options in values)), key=steps)
        return [tuple(options[at] for options, at in zip(values, place, strict=True)) for place in places]

    def draw_ahead(self, chosen: Sequence[Any]) -> None:
        """Has the kernel draw the missing pictures when it is idle, one at a time; where no kernel runs, nothing.

        A picture that cannot be drawn ends it: the error comes when a slider is moved there.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._ahead:
            self._ahead.cancel()
        missing = iter([near for near in self.nearest(chosen) if near not in self._drawn])

        def one() -> None:
            near = next(missing, None)
            if near is not None:
                try:
                    self.picture(*near)
                except Exception:
                    return
                self._ahead = loop.call_later(PAUSE, one)

        self._ahead = loop.call_later(PAUSE, one)

    def widget(self) -> Any:
        """The sliders over the picture: an ipywidgets box. The arrow keys move a slider."""
        import ipywidgets as widgets

        for near in self.nearest(self.start)[:FEW]:
            self.picture(*near)
        self.draw_ahead(self.start)
        sliders = [
            widgets.SelectionSlider(
                options=[(str(value), value) for value in values],
                value=first,
                description=label,
                style={"description_width": "initial"},
                layout=widgets.Layout(width="min(600px, 98%)"),
            )
            for (label, values), first in zip(self.sliders.items(), self.start, strict=True)
        ]
        picture = widgets.HTML(self.image(*self.start))

        def follow(change: Any) -> None:
            chosen = [slider.value for slider in sliders]
            picture.value = self.image(*chosen)
            self.draw_ahead(chosen)

        for slider in sliders:
            slider.observe(follow, "value")
        return widgets.VBox([*sliders, picture])

    def __repr__(self) -> str:
        return f"[figure] {self.alt(*self.start)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        """What is displayed; with LABBOOK_HEADLESS=1 the picture and its text only."""
        data, metadata = bundle(self.picture(*self.start), self.alt(*self.start))
        if os.environ.get("LABBOOK_HEADLESS") != "1":
            made = self.widget()._repr_mimebundle_()
            view = made[0] if isinstance(made, tuple) else made
            data[WIDGET] = view[WIDGET]
        return data, metadata


class SliderFigure(SlidersFigure):
    """A figure that follows one slider: `label` says what it moves, `values` what it runs over."""

    def __init__(
        self,
        draw: Callable[[Any], Figure],
        values: Sequence[Any],
        *,
        start: Any,
        label: str,
        alt: Callable[[Any], str],
    ) -> None:
        super().__init__(draw, {label: values}, start=[start], alt=alt)
