# SPDX-License-Identifier: Apache-2.0
"""The library's calls and structs, as locus.h declares them. test/python checks the structs against a compiled probe.

`lib` releases Python's lock during a call, for calls that may wait or take long; `quick` keeps it, for those that never
wait and take less time than that. Handles are integers.
"""
import math
import operator
import os
import pathlib
import threading
from ctypes import (CDLL, PyDLL, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint,
                    c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, List, Sequence, Tuple, Union

import numpy as np

from . import errors

SONAME = "liblocus.so.0"
Path = Union[str, "os.PathLike[str]"]
LENGTH_MAX = 1 << 20
THREADS_MAX = 64
NOTE_MAX = 1024
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
    _fields_ += [("replica_staleness_mean_s", c_double), ("kept_now", c_uint64), ("bounds_waited", c_uint64),
                 ("bounds_waited_s", c_double), ("calls_waited", c_uint64),
                 ("calls_waited_s", c_double)]


class CLosses(Structure):
    _fields_ = [*((name, c_uint) for name in ("survives", "members", "lost", "left", "joined", "is_newcomer")), ("last", c_int),
                ("last_at_s", c_double), ("last_s", c_double),
                *((name, c_uint64) for name in ("rows_from_replicas", "rows_from_saves", "rows_zero", "saves", "saved_bytes")),
                ("save_age_s", c_double), ("last_age_s", c_double), ("rows_handed_over", c_uint64)]


class CHistogram(Structure):
    _fields_ = [("count", c_uint64 * HISTOGRAM_BUCKETS), ("sum", c_uint64)]


def _calls(*told: Tuple[Any, str, str]) -> Dict[str, Tuple[Any, ...]]:
    """Of each name the result and the arguments. p: a handle, an array, where a result goes; s: a string; n: a size."""
    kinds = {"p": c_void_p, "s": c_char_p, "n": c_size_t, "i": c_int, "u": c_uint, "U": c_uint32, "k": c_uint64,
             "t": c_int64, "d": c_double}
    return {"locus_" + name: (result, *(kinds[each] for each in arguments))
            for result, arguments, names in told for name in names.split()}


_BLOCKING = _calls(
    (c_int, "p", "close leave worker_close loader_close wait_all barrier quiesce"),
    (c_int, "pp", "open worker_open loader_open"),
    (c_int, "ppnp", "pull push set pull_state set_state localize_async"),
    (c_int, "ppnpp", "pull_async push_async set_async"),
    (c_int, "ppn", "localize unintend sum meet"),
    (c_int, "ppntt", "intent loader_intent"),
    (c_int, "ppnttp", "prepare_sample loader_prepare_sample"),
    (c_int, "pknpp", "pull_sample"),
    (c_int, "pk", "wait finish_sample"),
    (c_int, "pt", "bound"),
    (c_int, "pu", "use_threads"),
    (c_int, "pnkppp", "distinct"),
    (c_int, "pkkiup", "distribution_uniform"),
    (c_int, "pkpkiup", "distribution_weighted"),
    (None, "p", "distribution_free"),
    (c_int, "pssn", "checkpoint_with"),
    (c_int, "pspp", "restore_with"),
    (c_size_t, "pkpn", "owned"))
_QUICK = _calls(
    (c_char_p, "i", "strerror"),
    (c_char_p, "", "error"),
    (None, "pn", "config_init_sized"),
    (c_int, "p", "rank size worker_id"),
    (c_uint64, "p", "keys"),
    (c_uint32, "pk", "length state_length"),
    (c_int, "pud", "table_rate"),
    (c_int, "puk", "table_steps"),
    (c_int, "pkp", "pull_local"),
    (c_bool, "pk", "done"),
    (c_int64, "p", "advance_clock current_clock"),
    (c_int, "pk", "distribution_seed"),
    (c_int, "ppn", "stats_read_sized losses_read_sized"),
    (c_int, "psd", "report_value"),
    (c_int, "pip", "histogram_read"))


def _path() -> str:
    """As told, in the wheel or installed, in the source tree; else the system looks for it."""
    here = pathlib.Path(__file__).resolve().parent
    places = (here / SONAME, here.parents[1] / "build" / "gcc" / "lib" / SONAME)
    return os.environ.get("LOCUS_LIBRARY") or str(next((place for place in places if place.exists()), SONAME))


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


def one_of(name: str, value: Any, names: Sequence[str]) -> int:
    """Which of the names it is."""
    if value not in names:
        raise errors.ArgumentError(f"{name} is {value!r}: must be one of {', '.join(filter(None, names))}")
    return names.index(value)


def clock(name: str, value: Any) -> int:
    return integer(name, value, -(1 << 63), (1 << 63) - 1)


def on_main_thread() -> bool:
    """Only there do signals, and with them Ctrl-C, end something."""
    return threading.get_ident() == threading.main_thread().ident
