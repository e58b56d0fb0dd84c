"""What people write for 02.collate: tensors and text."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils import collate as torch_collate

from helpers.labs.dataloader.collate.mistakes.batches import Right, objects
from helpers.labs.dataloader.collate.mistakes.structures import DictClassLost, OnlyOneLevel


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorDtypeLost(Right):
    """Tensors came back with torch's default dtypes. Perhaps they went through Python's numbers (tolist,
    item); that is slow, too.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])


@objects.variant(TensorDtypeLost)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples))


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
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


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class JoinedNotStacked(Right):
    """Samples are joined along a dimension that is there, as torch.cat does: two samples of shape (2, 3) give
    (4, 3). A batch has a dimension of its own.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))


@objects.variant(JoinedNotStacked)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(JoinedNotStacked)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return (torch.cat if samples[0].dim() else torch.stack)(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(JoinedNotStacked)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return (torch.cat if samples[0].dim() else torch.stack)(list(samples))


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class BatchDimensionNotFirst(Right):
    """The samples do not stand along the first dimension, perhaps by dim=-1 or dim=1: the batch's dimension is the first one."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)


@objects.variant(BatchDimensionNotFirst)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=1)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(BatchDimensionNotFirst)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=min(1, samples[0].dim()))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(BatchDimensionNotFirst)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class UnequalTensorsPadded(Right):
    """Tensors of unequal size were made equal, perhaps padded. Whether that is done, and with what, is a
    decision: default_collate refuses to guess. A collate_fn of one's own is the place for it.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if len({sample.shape for sample in samples}) > 1:
            return nn.utils.rnn.pad_sequence(list(samples), batch_first=True)
        return torch.stack(list(samples))


@objects.variant(UnequalTensorsPadded)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(torch.broadcast_tensors(*samples))


@objects.variant(UnequalTensorsPadded)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if samples[0].dim() == 1:
            return nn.utils.rnn.pad_sequence(list(samples), batch_first=True)
        return torch.stack(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class BatchOfOneSharesMemory(Right):
    """A batch of one shares memory with its sample: what is done to it in place is done to the dataset.
    Perhaps it is a view, as sample.unsqueeze(0) and sample[None] are: stack copies.
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


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
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
    """bytes is text of a different kind, and as a sequence it is one of ints: b'ab' becomes 97, 98."""

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


@objects.mistake()
class TextRefused(Right):
    """Texts raise, perhaps since a tensor was to be made of them: file names and captions go through as a list, and a batch may
    hold what is no tensor.
    """

    def text(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)


@objects.variant(TextRefused)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@objects.mistake()
class CallsDefaultCollate:
    """It works, and shows nothing: torch's collate functions, default_collate above all, are what this
    exercise takes apart.
    """

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


@objects.mistake()
class GradientsCutOff(Right):
    """No gradient goes from the batch to the samples, perhaps by detach(), .data or no_grad(): torch.stack keeps the graph, so that what
    made the samples can be trained.
    """

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([sample.detach() for sample in samples])


@objects.mistake()
class ParametersRefused(Right):
    """Parameters raise, perhaps since type(x) is Tensor is false for them: isinstance asks the right question."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return super().tensors(samples) if type(samples[0]) is Tensor else self.others(samples)


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorsThroughNumpy(Right):
    """Tensors of bfloat16 raise, perhaps since they went through NumPy, which has no such dtype: torch.stack takes all."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.from_numpy(np.stack([sample.numpy() for sample in samples]))


@objects.variant(TensorsThroughNumpy)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.from_numpy(np.stack([sample.numpy() for sample in samples]))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.from_numpy(np.stack(samples))


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorsWithoutDimensionsRefused(Right):
    """Tensors of shape () raise, perhaps since pad_sequence or a size asks for a first dimension: torch.stack makes one."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.nn.utils.rnn.pad_sequence(list(samples), batch_first=True)


@objects.variant(TensorsWithoutDimensionsRefused)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        len(samples[0])
        return torch.stack(list(samples))


@objects.variant(TensorsWithoutDimensionsRefused)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        width = max(sample.shape[0] for sample in samples)
        return torch.stack(
            [nn.functional.pad(one, (0, 0) * (one.dim() - 1) + (0, width - one.shape[0])) for one in samples]
        )


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class LastDimensionOfOneLost(Right):
    """Tensors whose last dimension is 1 lose it, perhaps by squeeze(-1): the batch has the shape of the samples behind B."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze(-1)


@objects.variant(LastDimensionOfOneLost)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze(-1)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(LastDimensionOfOneLost)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        batch = torch.stack(list(samples))
        return batch.squeeze(-1) if batch.dim() > 1 else batch


@objects.variant(LastDimensionOfOneLost)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        batch = torch.stack(list(samples))
        return batch.squeeze(-1) if batch.dim() > 1 else batch

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorsWithoutDimensionsInAColumn(Right):
    """Tensors of shape () give shape (B, 1): stacking adds one dimension, and that is B."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([torch.atleast_1d(sample) for sample in samples])


@objects.variant(TensorsWithoutDimensionsInAColumn)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([torch.atleast_1d(sample) for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake(breaks="One batch of B samples, as torch's default_collate makes it.")
class SamplesReordered(Right):
    """The batch holds the samples in a different order, perhaps sorted or reversed: the sampler chose theirs, and a target that
    travels in a second list no longer fits.
    """

    def __call__(self, samples: list[Any]) -> Any:
        return super().__call__(samples[::-1])


@objects.variant(SamplesReordered)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)[::-1])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.variant(SamplesReordered)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        samples.sort(key=str)
        return super().__call__(samples)


@objects.mistake(breaks="One batch of B samples, as torch's default_collate makes it.")
class FirstSampleForAll(Right):
    """Every row of the batch is the first sample: each sample is wanted, in its own row."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([samples[0] for _ in samples])


@objects.variant(FirstSampleForAll)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([samples[0] for _ in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake(breaks="Tensors give a tensor of shape (B, *shape) and of their dtype.")
class TensorsStayAList(Right):
    """Tensors were only gathered: a list of tensors is no batch, stack them."""

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return list(samples)


@objects.variant(TensorsStayAList)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return list(samples)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@objects.mistake()
class TextJoined(Right):
    """One text came for the whole batch, perhaps all of them joined: which part is whose sample's is lost.
    The list of them is the batch.
    """

    def text(self, samples: Sequence[Any]) -> Any:
        return type(samples[0])().join(samples)


@objects.variant(TextJoined)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return " ".join(samples)


@objects.variant(TextJoined)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return " ".join(samples) if isinstance(samples[0], str) else samples


@objects.variant(TextJoined)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return " ".join(map(str, samples))


@objects.mistake()
class TextOfTheFirstOnly(Right):
    """The text of the first sample came for the whole batch: each sample has one of its own."""

    def text(self, samples: Sequence[Any]) -> Any:
        return samples[0]


@objects.mistake()
class BytesDecoded(Right):
    """bytes became str: they come as they are, and need not be text at all."""

    def text(self, samples: Sequence[Any]) -> Any:
        return [sample if isinstance(sample, str) else sample.decode() for sample in samples]


@objects.mistake()
class TextSorted(Right):
    """The texts come in a different order than the samples, perhaps sorted: they no longer stand beside their tensors."""

    def text(self, samples: Sequence[Any]) -> Any:
        return sorted(samples)


@objects.variant(TextStacked)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return np.array(samples, dtype=object)


@objects.mistake()
class TextInASet(Right):
    """The texts came in a set: two samples with one text are one, and the order is gone."""

    def text(self, samples: Sequence[Any]) -> Any:
        return set(samples)


@objects.mistake()
class BufferUsedAgain(Right):
    """A second batch was written into the memory of the first, perhaps a buffer that is kept: each batch needs memory of its own."""

    kept: Tensor | None = None

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if any(sample.requires_grad for sample in samples):
            return super().tensors(samples)
        batch = torch.stack(list(samples))
        if self.kept is None or (self.kept.shape, self.kept.dtype) != (batch.shape, batch.dtype):
            self.kept = torch.empty_like(batch)
        return self.kept.copy_(batch)


@objects.variant(DictClassLost)
class _(Right):
    """By `|`, which keeps the classes of the standard library."""

    def mappings(self, samples: Sequence[Any]) -> Any:
        return samples[0] | {key: self([sample[key] for sample in samples]) for key in samples[0]}


@objects.variant(OnlyOneLevel)
class _(Right):
    """Down to a depth that its author has thought of."""

    depth = 0

    def __call__(self, samples: Any) -> Any:
        if self.depth == 5 and isinstance(samples[0], (dict, list, tuple)):
            return samples
        self.depth += 1
        try:
            return super().__call__(samples)
        finally:
            self.depth -= 1


@objects.mistake(breaks="Gradients flow back to the samples.")
class ComputedTensorsRefused(Right):
    """Dicts of tensors that were computed from others raise, perhaps by copy.deepcopy, which takes only tensors that were
    created as they are. copy.copy of the dict will do: its values are replaced.
    """

    def mappings(self, samples: Sequence[Any]) -> Any:
        batch = copy.deepcopy(samples[0])
        batch.update({key: self([sample[key] for sample in samples]) for key in samples[0]})
        return batch
