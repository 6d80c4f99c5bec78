# SPDX-License-Identifier: Apache-2.0
"""Values between memory, where rows are, and the device of a model.

To and from a GPU by way of pinned memory, without waiting: a copy runs while the next rows are pulled. torch itself keeps a
pinned buffer from being used again before the copy has ended.
"""
from typing import Any, Callable, Dict, List, TypeVar

import torch

_cuda: Any = torch.cuda  # torch 1.13 has no types for some of its calls
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
    if _is_gpu(device) and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


class Moving:
    """Values on their way to a GPU, on a stream of their own beside what it computes. Elsewhere they stay in memory."""

    _streams: Dict[torch.device, Any] = {}

    def __init__(self, values: torch.Tensor, device: torch.device) -> None:
        self._values, self._event = values, None
        if _is_gpu(device):
            stream = self._streams.get(device) or self._streams.setdefault(device, _cuda.Stream(device))
            with _cuda.stream(stream):
                self._values, self._event = to_device(values, device), stream.record_event()

    def arrived(self) -> torch.Tensor:
        """As to_device() gives them: what runs on the device next waits for them, and nobody here."""
        if self._event is not None:
            current = _cuda.current_stream(self._values.device)
            current.wait_event(self._event)
            self._values.record_stream(current)  # else their memory would be that stream's again, once they are dropped
        return self._values


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
        _cuda.current_stream(device).synchronize()
    return copies
