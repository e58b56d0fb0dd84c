"""What the notebook of lab 11 uses beside the answers: the log of torch's operations."""

from __future__ import annotations

from helpers.check.operations import operations

__all__ = ["operations"]
