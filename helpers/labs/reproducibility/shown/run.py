"""A training run that is small enough to be interrupted at every batch (exercise 01.save_run)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from torch.utils.data import DataLoader, Dataset


class Step(NamedTuple):
    """What one batch of training did. samples: the indices in the batch, in order."""

    epoch: int
    batch: int
    samples: list[int]
    loss: float


class Run:
    """A training run, and where it stands.

    model, optimizer, scheduler, loader: as in any training loop. The loader yields (indices, x, y).
    generators: the run's own generators by name; the dataset draws from the one called "augment".
    epoch, batch: how many epochs are done, and how many batches of the present one.
    batches: the rest of the present epoch; None between two epochs.
    epoch_start: state of torch's global generator just before this epoch's `iter(loader)`; None between two.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        scheduler: LRScheduler,
        loader: DataLoader,
        generators: dict[str, torch.Generator],
        epoch: int = 0,
        batch: int = 0,
    ) -> None:
        self.model, self.optimizer, self.scheduler, self.loader = model, optimizer, scheduler, loader
        self.generators, self.epoch, self.batch = generators, epoch, batch
        self.batches: Iterator[Any] | None = None
        self.epoch_start: Tensor | None = None

    def start_epoch(self) -> None:
        """Makes the iterator of an epoch. Its first `next` draws the order of the samples."""
        self.epoch_start = torch.get_rng_state()
        self.batches = iter(self.loader)

    def step(self) -> Step:
        """Trains on one batch."""
        if self.batches is None:
            self.start_epoch()
        samples, x, y = next(self.batches)
        loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        done = Step(self.epoch, self.batch, samples.tolist(), loss.item())
        self.batch += 1
        if self.batch == len(self.loader):
            self.epoch, self.batch = self.epoch + 1, 0
            self.batches = self.epoch_start = None
        return done


class Jittered(Dataset):
    """Eight samples; each reading scales, shifts and blurs x with a different generator.

    Item: (index, x of shape (3,), y of shape (1,)), both float32.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator
        self.x = torch.arange(24.0).reshape(8, 3).sin()
        self.y = self.x.sum(dim=1, keepdim=True)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[int, Tensor, Tensor]:
        scale = random.gauss(1.0, 0.1)
        shift = 0.1 * np.random.standard_normal()
        blur = 0.1 * torch.randn(3, generator=self.generator)
        return index, scale * self.x[index] + shift + blur, self.y[index]


def inverse_root(step: int) -> float:
    """Factor of the learning rate after `step` batches."""
    return (1 + step) ** -0.5


def new_run(seed: int) -> Run:
    """A new run, as a new process would make it: three batches an epoch (3, 3 and 2 samples).

    Seeds Python's, NumPy's and torch's global generators and the run's own one.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed + 1)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = LambdaLR(optimizer, inverse_root)
    loader = DataLoader(Jittered(generator), batch_size=3, shuffle=True)
    return Run(model, optimizer, scheduler, loader, {"augment": generator})
