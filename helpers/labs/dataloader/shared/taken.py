"""The first things that an answer's iterator gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from helpers.check.trial import Trial


def taken(iterator: Iterator[Any], most: int, trial: Trial) -> Iterator[Any]:
    """At most `most` of them; wrong if a StopIteration inside of the answer's generator ends it."""
    count = 0
    try:
        for item in islice(iterator, most):
            count += 1
            yield item
    except RuntimeError as error:
        if str(error) != "generator raised StopIteration":
            raise
        trial.fail(
            f"next() of the answer's iterator raised RuntimeError after {count} of its results: a next() inside of the "
            "generator found nothing more, and nobody caught its StopIteration.",
            expected="an iterator that ends without an error",
            got=f"RuntimeError: {error}",
            observed="StopIteration inside",
        )
