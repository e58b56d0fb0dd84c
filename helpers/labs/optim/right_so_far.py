"""Whether an answer has certain properties already: some things are asked only of answers that are right otherwise.

So a mistake is named the same whether or not a second, smaller one (a missing ValueError, say) comes with it.
"""

from __future__ import annotations

from typing import Any

from helpers.exercise import Check
from helpers.trial import Trial


def right_so_far(checks: list[Check], answer: Any, trial: Trial) -> bool:
    """Whether the answer passes these checks of properties, with the inputs that they have in this run."""
    for check in checks:
        try:
            check(answer, Trial(trial.seed))
        except NotImplementedError:
            raise
        except Exception:
            return False
    return True
