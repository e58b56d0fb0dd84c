"""What people write for 02.collate: tensors and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils import collate as torch_collate

from helpers.labs.dataloader.collate.mistakes.batches import Right, objects


@objects.mistake()
class TensorDtypeLost(Right):
    """The tensors went through Python's numbers (tolist, item), and came back with default dtypes; it is
    slow, too.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])


@objects.variant(TensorDtypeLost)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples))


@objects.mistake()
class TensorsBecomeFloats(Right):
    """A batch in float32 for all: uint8 pictures take four times the memory, and labels are no indices any
    more.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).float()


@objects.variant(TensorsBecomeFloats)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([sample.float() for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class JoinedNotStacked(Right):
    """torch.cat joins along a dimension that is there: two samples of shape (2, 3) give (4, 3). A batch has a
    dimension of its own.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))


@objects.variant(JoinedNotStacked)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class BatchDimensionLast(Right):
    """The samples stand along the last dimension; the batch's dimension is the first one."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)


@objects.variant(BatchDimensionLast)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class UnequalTensorsPadded(Right):
    """Whether samples of unequal size are padded, and with what, is a decision: default_collate refuses to
    guess. A collate_fn of one's own is the place for it.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if len({sample.shape for sample in samples}) > 1:
            return torch.nn.utils.rnn.pad_sequence(list(samples), batch_first=True)
        return torch.stack(list(samples))


@objects.variant(UnequalTensorsPadded)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(torch.broadcast_tensors(*samples))


@objects.mistake()
class BatchOfOneSharesMemory(Right):
    """sample.unsqueeze(0) and sample[None] are views: what is done to a batch of one in place is done to the
    dataset. stack copies.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return samples[0].unsqueeze(0) if len(samples) == 1 else torch.stack(list(samples))


@objects.variant(BatchOfOneSharesMemory)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return samples[0][None] if len(samples) == 1 else torch.stack(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(BatchOfOneSharesMemory)
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.from_numpy(samples[0])[None] if len(samples) == 1 else super().arrays(samples)

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples))


@objects.mistake()
class BatchOfOneNotABatch(Right):
    """A batch of one sample has the batch's dimension, too: a last batch of one must not change its shape."""

    def __call__(self, samples: list[Any]) -> Any:
        return samples[0] if len(samples) == 1 else super().__call__(samples)


@objects.variant(BatchOfOneNotABatch)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze(0)


@objects.variant(BatchOfOneNotABatch)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze()


@objects.mistake()
class TextTakenApart(Right):
    """A str is a sequence of str of length 1, which is a sequence of str of length 1: ask for text before you
    ask for sequences.
    """

    def text(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples)


@objects.variant(TextTakenApart)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return [self(column) for column in zip(*samples, strict=False)]


@objects.mistake()
class BytesTakenApart(Right):
    """bytes is text of another kind, and as a sequence it is one of ints: b'ab' becomes 97, 98."""

    def text(self, samples: Sequence[Any]) -> Any:
        return samples if isinstance(samples[0], str) else self.sequences(samples)


@objects.mistake()
class BytesRefused(Right):
    """The answer raises for bytes, which are collated as text is: isinstance(first, (str, bytes))."""

    def text(self, samples: Sequence[Any]) -> Any:
        return samples if isinstance(samples[0], str) else self.others(samples)


@objects.mistake()
class TextStacked(Right):
    """There is no tensor of text; an array of it goes neither to pinned memory nor to a GPU. The list of
    texts is the batch.
    """

    def text(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@objects.variant(TextStacked)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@objects.variant(TextStacked)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return torch.stack(samples)


@objects.mistake()
class TextUnknown(Right):
    """File names and captions are text, and go through as a list: a batch may hold what is no tensor."""

    def text(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)


@objects.mistake()
class CallsDefaultCollate:
    """It works, and shows nothing: default_collate is what this exercise takes apart."""

    def __call__(self, samples: list[Any]) -> Any:
        return default_collate(samples)


@objects.variant(CallsDefaultCollate)
class _:
    def __call__(self, samples: list[Any]) -> Any:
        return (
            next(iter(DataLoader(samples, len(samples), generator=torch.Generator()))) if samples else [][0]
        )


@objects.variant(CallsDefaultCollate)
class _:
    def __call__(self, samples: list[Any]) -> Any:
        return torch_collate.collate(samples, collate_fn_map=torch_collate.default_collate_fn_map)
