"""What people write for 02.collate: tensors and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils import collate as torch_collate

from helpers.labs.dataloader.collate_mistakes import Right, form, wrong


@wrong(
    "tensor_dtype_lost",
    why="The tensors went through Python's numbers (tolist, item), and came back with default dtypes; it is slow, too.",
    seen="went through Python's numbers",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])


@form("tensor_dtype_lost")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.tensor([sample.tolist() for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.tensor(np.stack(samples))


@wrong(
    "tensors_become_floats",
    why="A batch in float32 for all: uint8 pictures take four times the memory, and labels are no indices any more.",
    seen="uint8 pictures take four times the memory",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).float()


@form("tensors_become_floats")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack([sample.float() for sample in samples])

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@wrong(
    "joined_not_stacked",
    why="torch.cat joins along a dimension that is there: two samples of shape (2, 3) give (4, 3). A batch has a dimension of its own.",
    seen="joins along a dimension that is there",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))


@form("joined_not_stacked")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.cat(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@wrong(
    "batch_dimension_last",
    why="The samples stand along the last dimension; the batch's dimension is the first one.",
    seen="stand along the last dimension",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)


@form("batch_dimension_last")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples), dim=-1)

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@wrong(
    "unequal_tensors_padded",
    why="Whether samples of unequal size are padded, and with what, is a decision: default_collate refuses to guess. A collate_fn "
    "of one's own is the place for it.",
    seen="refuses to guess",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        if len({sample.shape for sample in samples}) > 1:
            return torch.nn.utils.rnn.pad_sequence(list(samples), batch_first=True)
        return torch.stack(list(samples))


@form("unequal_tensors_padded")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(torch.broadcast_tensors(*samples))


@wrong(
    "batch_of_one_shares_memory",
    why="sample.unsqueeze(0) and sample[None] are views: what is done to a batch of one in place is done to the dataset. stack "
    "copies.",
    seen="are views: what is done to a batch of one",
)
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return samples[0].unsqueeze(0) if len(samples) == 1 else torch.stack(list(samples))


@form("batch_of_one_shares_memory")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return samples[0][None] if len(samples) == 1 else torch.stack(list(samples))

    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.as_tensor(np.stack(samples))


@form("batch_of_one_shares_memory")
class _(Right):
    def arrays(self, samples: Sequence[np.ndarray]) -> Any:
        return torch.from_numpy(samples[0])[None] if len(samples) == 1 else super().arrays(samples)

    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples))


@wrong(
    "batch_of_one_not_a_batch",
    why="A batch of one sample has the batch's dimension, too: a last batch of one must not change its shape.",
    seen="a last batch of one must not change",
)
class _(Right):
    def __call__(self, samples: list[Any]) -> Any:
        return samples[0] if len(samples) == 1 else super().__call__(samples)


@form("batch_of_one_not_a_batch")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze(0)


@form("batch_of_one_not_a_batch")
class _(Right):
    def tensors(self, samples: Sequence[Tensor]) -> Any:
        return torch.stack(list(samples)).squeeze()


@wrong(
    "text_taken_apart",
    why="A str is a sequence of str of length 1, which is a sequence of str of length 1: ask for text before you ask for sequences.",
    seen="ask for text before you ask for sequences",
)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return self.sequences(samples)


@form("text_taken_apart")
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return [self(column) for column in zip(*samples, strict=False)]


@wrong(
    "bytes_taken_apart",
    why="bytes is text of another kind, and as a sequence it is one of ints: b'ab' becomes 97, 98.",
    seen="bytes is text of another kind",
)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return samples if isinstance(samples[0], str) else self.sequences(samples)


@form("bytes_taken_apart")
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return samples if isinstance(samples[0], str) else self.others(samples)


@wrong(
    "text_stacked",
    why="There is no tensor of text; an array of it goes neither to pinned memory nor to a GPU. The list of texts is the batch.",
    seen="There is no tensor of text",
)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return np.array(samples)


@form("text_stacked")
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return torch.tensor(samples)


@form("text_stacked")
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return torch.stack(samples)


@wrong(
    "text_unknown",
    why="File names and captions are text, and go through as a list: a batch may hold what is no tensor.",
    seen="a batch may hold what is no tensor",
)
class _(Right):
    def text(self, samples: Sequence[Any]) -> Any:
        return self.others(samples)


@wrong(
    "calls_default_collate",
    why="It works, and shows nothing: default_collate is what this exercise takes apart.",
    seen="default_collate is what this exercise takes apart",
)
class _:
    def __call__(self, samples: list[Any]) -> Any:
        return default_collate(samples)


@form("calls_default_collate")
class _:
    def __call__(self, samples: list[Any]) -> Any:
        return (
            next(iter(DataLoader(samples, len(samples), generator=torch.Generator()))) if samples else [][0]
        )


@form("calls_default_collate")
class _:
    def __call__(self, samples: list[Any]) -> Any:
        return torch_collate.collate(samples, collate_fn_map=torch_collate.default_collate_fn_map)
