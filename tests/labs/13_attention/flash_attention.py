"""Right answers of 13.flash_attention, of other shapes than the solution's."""

from __future__ import annotations

import math

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class TwoNumbers(Function):
    """Largest score and sum are kept apart; einsum; only gradients that are needed are made."""

    @staticmethod
    def forward(ctx, q, k, v, block):
        scale = 1 / math.sqrt(q.shape[-1])
        m = q.new_full(q.shape[:-1], -torch.inf)
        s = q.new_zeros(q.shape[:-1])
        o = torch.zeros_like(q)
        for a in range(0, k.shape[2], block):
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, a : a + block]).mul_(scale)
            new = torch.maximum(m, scores.max(-1).values)
            p = torch.exp(scores - new.unsqueeze(-1))
            old = torch.exp(m - new)
            s = s * old + p.sum(-1)
            o = o * old.unsqueeze(-1) + torch.einsum("bhqk,bhkd->bhqd", p, v[:, :, a : a + block])
            m = new
        o = o / s.unsqueeze(-1)
        ctx.save_for_backward(q, k, v, o, m, s)
        ctx.block = block
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        q, k, v, o, m, s = ctx.saved_tensors
        scale = 1 / math.sqrt(q.shape[-1])
        needs_q, needs_k, needs_v, _ = ctx.needs_input_grad
        dq = torch.zeros_like(q) if needs_q else None
        dk = torch.zeros_like(k) if needs_k else None
        dv = torch.zeros_like(v) if needs_v else None
        delta = torch.einsum("bhqd,bhqd->bhq", g, o).unsqueeze(-1)
        for a in range(0, k.shape[2], ctx.block):
            b = slice(a, min(a + ctx.block, k.shape[2]))
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, b]) * scale
            p = torch.exp(scores - m.unsqueeze(-1)) / s.unsqueeze(-1)
            if needs_v:
                dv[:, :, b] = torch.einsum("bhqk,bhqd->bhkd", p, g)
            if needs_q or needs_k:
                ds = p * (torch.einsum("bhqd,bhkd->bhqk", g, v[:, :, b]) - delta)
                if needs_q:
                    dq += torch.einsum("bhqk,bhkd->bhqd", ds, k[:, :, b]) * scale
                if needs_k:
                    dk[:, :, b] = torch.einsum("bhqk,bhqd->bhkd", ds, q) * scale
        return dq, dk, dv, None


class Joined(Function):
    """Results of blocks are mixed by logarithms; gradients of blocks are joined by cat."""

    @staticmethod
    def forward(ctx, q, k, v, block):
        result = log = None
        for keys, values in zip(k.split(block, 2), v.split(block, 2), strict=True):
            scores = q @ keys.mT / q.shape[-1] ** 0.5
            part, more = scores.softmax(-1) @ values, scores.logsumexp(-1, keepdim=True)
            if result is None:
                result, log = part, more
                continue
            both = torch.logaddexp(log, more)
            result = result * (log - both).exp() + part * (more - both).exp()
            log = both
        ctx.block = block
        ctx.save_for_backward(q, k, v, result, log)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        q, k, v, result, log = ctx.saved_tensors
        root = q.shape[-1] ** 0.5
        mean = (grad * result).sum(-1, keepdim=True)
        of_q, of_k, of_v = 0, [], []
        for keys, values in zip(k.split(ctx.block, 2), v.split(ctx.block, 2), strict=True):
            weights = (q @ keys.mT / root - log).exp()
            of_scores = weights * (grad @ values.mT - mean) / root
            of_q = of_q + of_scores @ keys
            of_k.append(of_scores.mT @ q)
            of_v.append(weights.mT @ grad)
        return of_q, torch.cat(of_k, 2), torch.cat(of_v, 2), None


class OverHeads(Function):
    """Loops over batch and heads, and two passes in forward: first the logarithm of the sum, then the result."""

    @staticmethod
    def forward(ctx, q, k, v, block):
        result = torch.empty_like(q)
        logs = q.new_empty(q.shape[:3])
        scale = q.shape[3] ** -0.5
        for b in range(q.shape[0]):
            for h in range(q.shape[1]):
                log = q.new_full(q.shape[2:3], -math.inf)
                for keys in k[b, h].split(block):
                    log = torch.logaddexp(log, (q[b, h] @ keys.T * scale).logsumexp(1))
                rows = torch.zeros_like(q[b, h])
                for keys, values in zip(k[b, h].split(block), v[b, h].split(block), strict=True):
                    rows += (q[b, h] @ keys.T * scale - log[:, None]).exp() @ values
                result[b, h], logs[b, h] = rows, log
        ctx.save_for_backward(q, k, v, result, logs)
        ctx.block = block
        return result

    @staticmethod
    def backward(ctx, grad):
        q, k, v, result, logs = ctx.saved_tensors
        grads = [torch.zeros_like(each) for each in (q, k, v)]
        scale = q.shape[3] ** -0.5
        for b in range(q.shape[0]):
            for h in range(q.shape[1]):
                mean = (grad[b, h] * result[b, h]).sum(1)
                dq, dk, dv = (each[b, h] for each in grads)
                for start in range(0, k.shape[2], ctx.block):
                    keys, values = k[b, h, start : start + ctx.block], v[b, h, start : start + ctx.block]
                    weights = (keys @ q[b, h].T * scale - logs[b, h]).exp()
                    dv[start : start + ctx.block] += weights @ grad[b, h]
                    slopes = weights * (values @ grad[b, h].T - mean) * scale
                    dk[start : start + ctx.block] += slopes @ q[b, h]
                    dq += slopes.T @ keys
        return *grads, None


class Pieces(Function):
    """Places of the blocks are kept, not block; keys stand in the rows of the weights; the sum by logaddexp."""

    @staticmethod
    def forward(ctx, q, k, v, block):
        ctx.places = [range(k.shape[2])[start : start + block] for start in range(0, k.shape[2], block)]
        ctx.scale = 1 / math.sqrt(q.shape[3])
        logs, result = torch.full_like(q[..., 0], -math.inf), torch.zeros_like(q)
        for place in ctx.places:
            scores = ctx.scale * (k[:, :, place.start : place.stop] @ q.mT)
            more = logs.logaddexp(scores.logsumexp(2))
            part = (scores - more.unsqueeze(2)).exp().mT @ v[:, :, place.start : place.stop]
            result = (logs - more).exp()[..., None] * result + part
            logs = more
        ctx.save_for_backward(q, k, v, result, logs)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        q, k, v, result, logs = ctx.saved_tensors
        mean = torch.linalg.vecdot(grad, result).unsqueeze(2)
        of_q, of_k, of_v = torch.zeros_like(q), [], []
        for place in ctx.places:
            keys, values = k[:, :, place.start : place.stop], v[:, :, place.start : place.stop]
            weights = torch.exp(ctx.scale * (keys @ q.mT) - logs.unsqueeze(2))
            of_v.append(weights @ grad)
            slopes = ctx.scale * weights * (values @ grad.mT - mean)
            of_k.append(slopes @ q)
            of_q = of_q + slopes.mT @ keys
        return of_q, torch.cat(of_k, 2), torch.cat(of_v, 2), None


RIGHT = [TwoNumbers, Joined, OverHeads, Pieces]
