# SPDX-License-Identifier: Apache-2.0
"""The library's calls and structs, as locus.h declares them. test/python checks the structs against a compiled probe.

`lib` releases Python's lock during a call, for calls that may wait or take long; `quick` keeps it, for those that never
wait and take less time than that. Handles are integers.
"""
import ctypes
import math
import operator
import os
import pathlib
import threading
from ctypes import (CDLL, POINTER, PyDLL, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_int64, c_size_t,
                    c_uint, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, List, Tuple, Union

import numpy as np

from . import errors

SONAME = "liblocus.so.0"
Path = Union[str, "os.PathLike[str]"]
LENGTH_MAX = 1 << 20
THREADS_MAX = 64
RECORD_MAX = 1024
OPERATIONS_MAX = 64  # of a worker in flight; the next one waits for the oldest
HISTOGRAM_BUCKETS = 40
TECHNIQUES = ("adaptive", "static", "relocate", "replicate", "full_replication")
OPTIMIZERS = ("", "sgd", "momentum", "adagrad", "row_adagrad", "adam", "adamw")
ELEMENTS = ("f32", "bf16")
CONFORMITIES = ("conform", "bounded", "long_term", "non_conform")
HISTOGRAMS = ("relocation_time", "parked_time", "blocked_time", "hops", "staleness")


class CRule(Structure):
    _fields_ = [(name, c_float) for name in ("rate", "momentum", "beta1", "beta2", "epsilon", "decay")]


class CTable(Structure):
    _fields_ = [("name", c_char_p), ("rows", c_uint64), ("length", c_uint32), ("flags", c_uint32),
                ("optimizer", c_int), ("rule", CRule), ("element", c_int)]


STATS_INTEGERS = ("pulled_local", "pulled_replica", "pulled_remote", "pushed_local", "pushed_replica",
                  "pushed_remote", "relocated_in", "relocated_out", "replicas_created", "replicas_dropped",
                  "replicas_now", "owned_now", "rounds", "bytes_sent", "bytes_received", "messages_sent",
                  "messages_received", "forwards", "intents_signaled", "intents_late")


class CStats(Structure):
    _fields_: List[Tuple[str, Any]] = [(name, c_uint64) for name in STATS_INTEGERS]
    _fields_ += [("replica_staleness_mean_s", c_double), ("advice_intend", c_uint64), ("advice_earlier", c_uint64),
                 ("advice_advance", c_uint64), ("kept_now", c_uint64), ("bounds_waited", c_uint64),
                 ("bounds_waited_s", c_double), ("pulled_too_old", c_uint64), ("calls_waited", c_uint64),
                 ("calls_waited_s", c_double)]


class CHistogram(Structure):
    _fields_ = [("count", c_uint64 * HISTOGRAM_BUCKETS), ("sum", c_uint64)]


STRUCTS = {"locus_rule": CRule, "locus_table": CTable, "locus_stats": CStats, "locus_histogram": CHistogram}

# Arrays are passed by address.
_keys, _n, _rows, _handle, _out, _clock = c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_int64
_BLOCKING: Dict[str, Tuple[Any, ...]] = {
    "locus_open": (c_int, c_void_p, _out),
    "locus_close": (c_int, _handle),
    "locus_owned": (c_size_t, _handle, c_uint64, _keys, _n),
    "locus_worker_open": (c_int, _handle, _out),
    "locus_worker_close": (c_int, _handle),
    "locus_pull": (c_int, _handle, _keys, _n, _rows),
    "locus_push": (c_int, _handle, _keys, _n, _rows),
    "locus_set": (c_int, _handle, _keys, _n, _rows),
    "locus_pull_state": (c_int, _handle, _keys, _n, _rows),
    "locus_set_state": (c_int, _handle, _keys, _n, _rows),
    "locus_pull_async": (c_int, _handle, _keys, _n, _rows, _out),
    "locus_push_async": (c_int, _handle, _keys, _n, _rows, _out),
    "locus_set_async": (c_int, _handle, _keys, _n, _rows, _out),
    "locus_wait": (c_int, _handle, c_uint64),
    "locus_wait_all": (c_int, _handle),
    "locus_localize": (c_int, _handle, _keys, _n),
    "locus_localize_async": (c_int, _handle, _keys, _n, _out),
    "locus_use_threads": (c_int, _handle, c_uint),
    "locus_distinct": (c_int, _keys, _n, c_uint64, _keys, _out, _out),
    "locus_gather": (c_int, _handle, _rows, _n, c_uint32, _keys, _n, c_uint32, _rows),
    "locus_scatter_add": (c_int, _handle, _rows, _n, c_uint32, _keys, _n, _rows),
    "locus_intent": (c_int, _handle, _keys, _n, _clock, _clock),
    "locus_unintend": (c_int, _handle, _keys, _n),
    "locus_loader_intent": (c_int, _handle, _keys, _n, _clock, _clock),
    "locus_loader_open": (c_int, _handle, _out),
    "locus_loader_close": (c_int, _handle),
    "locus_distribution_uniform": (c_int, _handle, c_uint64, c_uint64, c_int, c_uint, _out),
    "locus_distribution_weighted": (c_int, _handle, c_uint64, c_void_p, c_uint64, c_int, c_uint, _out),
    "locus_distribution_free": (None, _handle),
    "locus_prepare_sample": (c_int, _handle, _handle, _n, _clock, _clock, _out),
    "locus_loader_prepare_sample": (c_int, _handle, _handle, _n, _clock, _clock, _out),
    "locus_pull_sample": (c_int, _handle, c_uint64, _n, _keys, _rows),
    "locus_finish_sample": (c_int, _handle, c_uint64),
    "locus_barrier": (c_int, _handle),
    "locus_quiesce": (c_int, _handle),
    "locus_sum": (c_int, _handle, _rows, _n),
    "locus_bound": (c_int, _handle, _clock),
    "locus_checkpoint_with": (c_int, _handle, c_char_p, c_char_p, _n),
    "locus_restore_with": (c_int, _handle, c_char_p, c_void_p, _out),
}
_QUICK: Dict[str, Tuple[Any, ...]] = {
    "locus_strerror": (c_char_p, c_int),
    "locus_error": (c_char_p,),
    "locus_config_init_sized": (None, c_void_p, c_size_t),
    "locus_rank": (c_int, _handle),
    "locus_size": (c_int, _handle),
    "locus_keys": (c_uint64, _handle),
    "locus_length": (c_uint32, _handle, c_uint64),
    "locus_state_length": (c_uint32, _handle, c_uint64),
    "locus_table_rate": (c_int, _handle, c_uint, c_double),
    "locus_table_steps": (c_int, _handle, c_uint, c_uint64),
    "locus_worker_id": (c_int, _handle),
    "locus_pull_local": (c_int, _handle, c_uint64, _rows),
    "locus_done": (c_bool, _handle, c_uint64),
    "locus_advance_clock": (c_int64, _handle),
    "locus_current_clock": (c_int64, _handle),
    "locus_distribution_seed": (c_int, _handle, c_uint64),
    "locus_distribution_seed_worker": (c_int, _handle, c_int, c_uint64),
    "locus_stats_read_sized": (c_int, _handle, POINTER(CStats), c_size_t),
    "locus_report_value": (c_int, _handle, c_char_p, c_double),
    "locus_histogram_read": (c_int, _handle, c_int, POINTER(CHistogram)),
}
# Rows in place: pointers that end with a section, and a function that is called while others wait for the row, are
# nothing for Python; and prefetching a row pays only for those.
NOT_BOUND = {"locus_read_begin", "locus_read_end", "locus_view", "locus_change_local", "locus_step_local",
             "locus_step_along", "locus_prefetch",
             "locus_technique_of", "locus_table_first", "locus_checkpoint", "locus_restore"}  # a node knows what it was opened with
BOUND = set(_BLOCKING) | set(_QUICK)


def _places() -> List[str]:
    """Where the library may be, the first that exists is it: as told, in the wheel or installed, in the source tree."""
    told = os.environ.get("LOCUS_LIBRARY")
    if told:
        return [told]
    here = pathlib.Path(__file__).resolve().parent
    return [str(here / SONAME), str(here.parents[1] / "build" / "gcc" / "lib" / SONAME)]


def _path() -> str:
    return next((place for place in _places() if os.path.exists(place)), os.environ.get("LOCUS_LIBRARY") or SONAME)


def _load() -> Tuple[CDLL, PyDLL]:
    path = _path()
    try:
        loaded, kept = CDLL(path), PyDLL(path)
    except OSError as fault:
        raise ImportError(f"the library of locus could not be loaded: {fault}; set LOCUS_LIBRARY to the path of "
                          f"{SONAME}, or install the Debian packages that it needs") from None
    for library, calls in ((loaded, _BLOCKING), (kept, _QUICK)):
        for name, (result, *arguments) in calls.items():
            call = getattr(library, name)
            call.restype, call.argtypes = result, arguments
    return loaded, kept


lib, quick = _load()


def sentence(rc: int) -> str:
    """What the calling thread's last failing call said."""
    text: bytes = quick.locus_error() or quick.locus_strerror(rc)
    return text.decode(errors="replace")


def check(rc: int) -> None:
    if rc < 0:
        raise errors.of_result(rc, sentence(rc))


def text(name: str, value: Any) -> bytes:
    """A str, or bytes of one, for the library."""
    if not isinstance(value, (str, bytes)):
        raise errors.ArgumentError(f"{name} is a {type(value).__name__}: must be a str")
    made = os.fsencode(value)
    if b"\0" in made:
        raise errors.ArgumentError(f"{name} is {value!r}: must not hold a zero byte")
    return made


def integer(name: str, value: Any, least: int, most: int) -> int:
    """A whole number for the library, which would take another's lowest bits."""
    try:
        made = operator.index(value)
    except TypeError:
        raise errors.ArgumentError(f"{name} is {value!r}: must be an integer") from None
    if not least <= made <= most:
        raise errors.ArgumentError(f"{name} is {made}: must be {least} to {most}")
    return made


def number(name: str, value: Any, below: float = math.inf) -> float:
    """A finite number, at least 0."""
    is_number = isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
    if not is_number or not 0 <= value < below:
        raise errors.ArgumentError(f"{name} is {value!r}: must be a number, at least 0 and "
                                   f"{'finite' if below == math.inf else f'below {below}'}")
    return float(value)


def clock(name: str, value: Any) -> int:
    return integer(name, value, -(1 << 63), (1 << 63) - 1)


def on_main_thread() -> bool:
    """Only there do signals, and with them Ctrl-C, end something."""
    return threading.get_ident() == threading.main_thread().ident


address_of = ctypes.addressof
