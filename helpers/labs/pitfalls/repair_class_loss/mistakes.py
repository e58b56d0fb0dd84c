"""What people write for 10.repair_class_loss, and why it is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_class_loss.exercise import repair_class_loss
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

Loss = Callable[[Tensor, Tensor, Tensor, float], Tensor]


def broken(have: set[str]) -> Loss:
    """The text's code with some of its pitfalls."""

    def loss(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
        probs, teacher = logits.softmax(-1), teacher_logits.softmax(-1)
        hard = F.cross_entropy(probs if "softmax_before_cross_entropy" in have else logits, target)
        student = probs if "kl_of_probabilities" in have else logits.log_softmax(-1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the default reduction
            soft = F.kl_div(
                student, teacher, reduction="mean" if "mean_over_classes" in have else "batchmean"
            )
        return (1 - weight) * hard + weight * soft

    return loss


add_pitfalls(
    repair_class_loss,
    broken,
    {
        "softmax_before_cross_entropy": (
            "cross_entropy applies log_softmax itself. After a softmax of your own its logits lie between 0 and 1: with "
            "three classes a perfect answer still costs 0.55, and training crawls."
        ),
        "kl_of_probabilities": (
            "kl_div's first argument is a logarithm. For probabilities it gives a number that can be negative, which no "
            "divergence is."
        ),
        "mean_over_classes": (
            "kl_div's default reduction 'mean' divides by batch times classes. The divergence is a sum over the classes: "
            "'batchmean'."
        ),
    },
)


def distilled(hard: Callable[[Tensor, Tensor], Tensor], soft: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """A loss from its two parts."""

    def loss(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
        return (1 - weight) * hard(logits, target) + weight * soft(logits, teacher_logits)

    return loss


def divergence(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    return F.kl_div(logits.log_softmax(-1), teacher_logits.softmax(-1), reduction="batchmean")


WRONG_PARTS: dict[str, tuple[Loss, str, str]] = {
    "nll_of_probabilities": (
        distilled(lambda logits, target: F.nll_loss(logits.softmax(-1), target), divergence),
        "nll_loss takes log-probabilities and picks one with its sign turned. From probabilities it picks minus a "
        "probability: the loss is negative, and 'better' with any value that grows.",
    ),
    "nll_of_logits": (
        distilled(F.nll_loss, divergence),
        "nll_loss is the second half of cross_entropy: the log_softmax before it is yours to do. From logits it has no "
        "lower bound.",
    ),
    "softmax_over_the_batch": (
        distilled(
            lambda logits, target: F.nll_loss(logits.log_softmax(0), target),
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(0), teacher.softmax(0), reduction="batchmean"
            ),
        ),
        "Over dim 0 the probabilities of one class sum to 1 over the batch: each sample depends on its neighbours.",
    ),
    "divergence_reversed": (
        distilled(F.cross_entropy, lambda logits, teacher: divergence(teacher, logits)),
        "kl_div(a, b) is the divergence of a from b, KL(b || a): the student's logarithms stand first, the teacher's "
        "probabilities second. Here they are exchanged, and a divergence is not symmetric.",
    ),
    "log_target_not_told": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: F.kl_div(
                logits.log_softmax(-1), teacher.log_softmax(-1), reduction="batchmean"
            ),
        ),
        "The teacher is expected as probabilities. Its logarithms may be given too, but then with log_target=True: here "
        "they are taken for probabilities, and negative ones count nothing.",
    ),
    "divergence_from_logits": (
        distilled(F.cross_entropy, lambda logits, teacher: F.kl_div(logits, teacher, reduction="batchmean")),
        "kl_div applies no softmax at all, unlike cross_entropy: both arguments have to be made probabilities first.",
    ),
    "summed_over_the_batch": (
        distilled(
            F.cross_entropy,
            lambda logits, teacher: F.kl_div(logits.log_softmax(-1), teacher.softmax(-1), reduction="sum"),
        ),
        "reduction='sum' adds up the batch as well: the soft part weighs more in a large batch.",
    ),
    "log_of_softmax": (
        distilled(
            lambda logits, target: F.nll_loss(logits.softmax(-1).log(), target),
            lambda logits, teacher: F.kl_div(
                logits.softmax(-1).log(), teacher.softmax(-1), reduction="batchmean"
            ),
        ),
        "softmax rounds a small probability to 0, and its logarithm is minus infinity. log_softmax never forms the "
        "probability.",
    ),
    "log_of_the_teachers_softmax": (
        distilled(
            lambda logits, target: F.cross_entropy(logits, target),
            lambda logits, teacher: (
                (teacher.softmax(-1) * (teacher.softmax(-1).log() - logits.log_softmax(-1))).sum(-1).mean()
            ),
        ),
        "A teacher that is certain gives a class the probability 0, and 0 times log(0) is NaN. kl_div counts such a class "
        "as 0, and so does the teacher's log_softmax.",
    ),
    "eps_in_the_logarithm": (
        distilled(
            lambda logits, target: F.nll_loss((logits.softmax(-1) + 1e-8).log(), target),
            lambda logits, teacher: F.kl_div(
                (logits.softmax(-1) + 1e-8).log(), teacher.softmax(-1), reduction="batchmean"
            ),
        ),
        "A small number inside the logarithm avoids the infinity and caps the loss: an answer that is wrong and certain "
        "costs 18, and has no gradient. log_softmax needs no such help.",
    ),
    "cross_entropy_for_divergence": (
        distilled(F.cross_entropy, lambda logits, teacher: F.cross_entropy(logits, teacher.softmax(-1))),
        "The cross entropy with the teacher is the divergence plus the teacher's entropy: the gradient is the same, the "
        "number is not, and never reaches 0.",
    ),
}

for name, (answer, why) in WRONG_PARTS.items():
    repair_class_loss.add_mistake(name, answer, why=why)


@repair_class_loss.mistake()
def weights_exchanged(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """weight belongs to the teacher's part. Exchanged, weight 0 trains on the teacher alone."""
    return weight * F.cross_entropy(logits, target) + (1 - weight) * divergence(logits, teacher_logits)


@repair_class_loss.mistake()
def graph_cut(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    """torch.tensor(...) or .item() of the parts makes new numbers: the value is right, and nothing is
    learned.
    """
    hard, soft = F.cross_entropy(logits, target).item(), divergence(logits, teacher_logits).item()
    return torch.tensor((1 - weight) * hard + weight * soft, dtype=logits.dtype)
