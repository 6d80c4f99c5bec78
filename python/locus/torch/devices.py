# SPDX-License-Identifier: Apache-2.0
"""Values between memory, where rows are, and the device of a model.

To and from a GPU by way of pinned memory, without waiting: a copy runs while the next rows are pulled. torch itself keeps a
pinned buffer from being used again before the copy has ended.
"""
from typing import Any, Callable, List, TypeVar

import torch

_Call = TypeVar("_Call", bound=Callable[..., Any])


def uncompiled(call: _Call) -> _Call:
    """torch.compile (since torch 2.1) compiles what is before and behind it, and leaves it as it is."""
    disable = getattr(getattr(torch, "compiler", None), "disable", None)
    return call if disable is None else disable(call)  # type: ignore[no-any-return]


def _is_gpu(device: torch.device) -> bool:
    return device.type == "cuda"


def to_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """On the device as far as whatever runs there next can see; `tensor` itself if it is there. Does not wait."""
    if tensor.device == device:
        return tensor
    if _is_gpu(device):
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def to_memory(tensors: List[torch.Tensor]) -> List[torch.Tensor]:
    """On the CPU, to be read at once. All copies are under way before the first is waited for."""
    copies = []
    for tensor in tensors:
        if _is_gpu(tensor.device):
            pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            copies.append(pinned.copy_(tensor, non_blocking=True))
        else:
            copies.append(tensor.cpu())
    for device in {each.device for each in tensors if _is_gpu(each.device)}:
        torch.cuda.current_stream(device).synchronize()
    return copies
