"""A small training job on several ranks, which can be interrupted and taken up again (exercise 07.train)."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Job:
    """One rank's part of a training job; every process makes it anew, and sets its torch generator by that.

    model: its dropout draws from this process's global torch generator, a different one on each rank.
    optimizer: SGD with momentum.
    sampler: a DistributedSampler; its order follows from its seed and set_epoch(epoch).
    loader: yields this rank's batches (x of shape (batch, 3), y of shape (batch, 1)), both float32.
    """

    def __init__(self, seed: int = 0, samples: int = 8, batch_size: int = 2) -> None:
        torch.manual_seed(seed)  # the same weights and data on every rank
        x = torch.randn(samples, 3)
        data = TensorDataset(x, x.sin().sum(1, keepdim=True))
        self.model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.sampler = DistributedSampler(data, shuffle=True, seed=seed)
        self.loader = DataLoader(data, batch_size, sampler=self.sampler)
        torch.manual_seed(seed + 1 + dist.get_rank())  # other dropout masks on every rank

    def step(self, x: Tensor, y: Tensor) -> None:
        """Trains on one batch of every rank, with the mean of the ranks' gradients."""
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(x), y).backward()
        for param in self.model.parameters():
            dist.all_reduce(param.grad)
            param.grad /= dist.get_world_size()
        self.optimizer.step()
