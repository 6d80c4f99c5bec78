# SPDX-License-Identifier: Apache-2.0
"""What callers pass: NumPy arrays and torch's CPU tensors, by address and without a copy.

Whatever cannot be used as it is, is an error before the call, which says what to write instead.
"""
import sys
from ctypes import addressof, c_char
from typing import Any, Callable, Tuple

import numpy as np

from .errors import ArgumentError

INT64, UINT64, FLOAT32 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float32)
_from_buffer: Callable[[Any], c_char] = c_char.from_buffer


def is_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _address(array: "np.ndarray[Any, Any]") -> int:
    try:
        return addressof(_from_buffer(array))  # a quarter of the time of what comes below
    except (TypeError, ValueError, BufferError):  # read-only, or without elements
        return int(array.__array_interface__["data"][0])


def _refuse(array: Any, name: str, wanted: str, dtype: str) -> ArgumentError:
    kind, remedy = f"a {type(array).__name__}", f"numpy.ascontiguousarray({name}, dtype=numpy.{dtype})"
    if isinstance(array, np.ndarray):
        kind = f"{array.dtype} of shape {array.shape}" + (
            ", masked" if isinstance(array, np.ma.MaskedArray) else "" if array.flags.c_contiguous else ", not contiguous")
    elif is_tensor(array):
        remedy = f"{name}.detach().cpu().to(torch.{dtype}).contiguous()"
        kind = f"{array.dtype} of shape {tuple(array.shape)}" + (
            f" on {array.device}" if array.device.type != "cpu" else " that takes part in autograd" if array.requires_grad
            else "" if array.is_contiguous() else ", not contiguous")
    return ArgumentError(f"`{name}` is {kind}: must be {wanted}; write {remedy}")


def keys(array: Any, name: str = "keys") -> Tuple[int, int]:
    """The address and the number of keys: one dimension, int64 or uint64, contiguous."""
    if isinstance(array, np.ndarray):
        dtype = array.dtype
        if (dtype is INT64 or dtype in (INT64, UINT64)) and array.ndim == 1 and array.flags.c_contiguous and \
                not isinstance(array, np.ma.MaskedArray):
            return _address(array), len(array)
    elif is_tensor(array):
        if array.dtype is sys.modules["torch"].int64 and array.ndim == 1 and array.is_contiguous() and \
                array.device.type == "cpu":
            return array.data_ptr(), len(array)
    raise _refuse(array, name, "a contiguous array of one dimension of int64 (or NumPy's uint64) on the CPU", "int64")


def rows(array: Any, name: str, count: int, floats: int, written: bool) -> int:
    """The address of `floats` floats of `count` rows, or of all of them in one dimension: float32, contiguous, writable
    if they are written."""
    is_numpy = isinstance(array, np.ndarray)
    if is_numpy:
        fits = array.dtype == FLOAT32 and array.flags.c_contiguous and not isinstance(array, np.ma.MaskedArray)
    else:
        fits = is_tensor(array) and array.dtype is sys.modules["torch"].float32 and array.is_contiguous() and \
            array.device.type == "cpu" and not array.requires_grad
    if not fits:
        raise _refuse(array, name, "a contiguous array of float32 on the CPU", "float32")
    size = array.size if is_numpy else array.numel()
    if size != floats or not (array.ndim == 1 or (array.ndim > 1 and array.shape[0] == count)):
        each = f"({count}, {floats // count})" if count and floats % count == 0 else f"({floats},)"
        raise ArgumentError(f"`{name}` has shape {tuple(array.shape)}: must have {floats} floats, those of {count} rows; "
                            f"write numpy.empty({each}, dtype=numpy.float32)")
    if not is_numpy:
        return int(array.data_ptr())
    if written and not array.flags.writeable:
        raise ArgumentError(f"`{name}` is read-only: must be writable; write numpy.empty_like({name})")
    return _address(array)


def empty_like_keys(array: Any, shape: Tuple[int, ...]) -> Any:
    """Room for rows, of the kind that the keys are."""
    if isinstance(array, np.ndarray):
        return np.empty(shape, FLOAT32)
    torch = sys.modules["torch"]
    return torch.empty(shape, dtype=torch.float32, device="cpu")
