"""Right answers to 10.repair_class_loss, in different shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def distilled(logits: Tensor, target: Tensor, teacher_logits: Tensor, weight: float) -> Tensor:
    hard = F.cross_entropy(logits, target)
    soft = F.kl_div(logits.log_softmax(-1), teacher_logits.softmax(-1), reduction="batchmean")
    return (1 - weight) * hard + weight * soft


def distilled_by_hand(logits, target, teacher_logits, weight):
    student, teacher = F.log_softmax(logits, 1), F.log_softmax(teacher_logits.detach(), 1)
    hard = -student.gather(1, target[:, None]).mean()
    soft = (teacher.exp() * (teacher - student)).sum(1).mean()
    return torch.lerp(hard, soft, weight)


def distilled_with_log_target(logits, target, teacher_logits, weight):
    student = logits - logits.logsumexp(1, keepdim=True)
    soft = F.kl_div(student, teacher_logits.log_softmax(1), reduction="sum", log_target=True) / len(target)
    return F.nll_loss(student, target) * (1 - weight) + soft * weight


def distilled_or_one_of_both(logits, target, teacher_logits, weight):
    """log_softmax twice is harmless; the mean over all elements times the classes is the mean over the batch."""
    student = logits.log_softmax(-1)
    hard = F.cross_entropy(student, target)
    soft = F.kl_div(student, teacher_logits.softmax(-1), reduction="none").mean() * logits.shape[1]
    return hard if weight == 0 else soft if weight == 1 else (1 - weight) * hard + weight * soft


RIGHT = [
    distilled,
    distilled_by_hand,
    distilled_with_log_target,
    distilled_or_one_of_both,
]
