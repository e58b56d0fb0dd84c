"""Whether an answer has certain properties already: some things are asked only of answers that are right otherwise.

So a mistake is named the same whether or not a second, smaller one (a missing ValueError, say) comes with it, and
a slow property has nothing to run for an answer that a quick one rejects.
"""

from __future__ import annotations

from typing import Any

from helpers.exercise import Check, Exercise
from helpers.trial import Trial


def right_so_far(exercise: Exercise, answer: Any, trial: Trial, *checks: Check) -> bool:
    """Whether the answer has these properties, with the inputs that they have in this run.

    checks: functions of properties; without any, all but the last property of the exercise.
    """
    asked = (
        [prop for prop in exercise.properties if prop.check in checks] if checks else exercise.properties[:-1]
    )
    for prop in asked:
        try:
            prop.check(answer, Trial(trial.seed, prop.changes))
        except NotImplementedError:
            raise
        except Exception:
            return False
    return True
