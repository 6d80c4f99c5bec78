# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the package, and the library that `make lib` has built beside it. pip calls this.

Of its own, because pip fetches a backend from the network for each build, and a wheel is a zip with four files of text.
LOCUS_LIBRARY names another library to carry than that of the source tree, which is built if it is not there.
"""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SONAME = "liblocus.so.0"


def _version():
    header = (ROOT / "include" / "locus.h").read_text()
    return ".".join(re.search(rf"LOCUS_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def _library():
    told = os.environ.get("LOCUS_LIBRARY")
    if told:
        return Path(told)
    built = ROOT / "build" / "gcc" / "lib" / SONAME
    if not built.exists():
        subprocess.run(["make", "-C", str(ROOT), "lib"], check=True)
    return built


def _metadata():
    return (f"Metadata-Version: 2.1\nName: locus\nVersion: {_version()}\n"
            "Summary: adaptive parameter manager for distributed machine learning\nLicense: Apache-2.0\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: torch\n"
            "Requires-Dist: torch; extra == 'torch'\n")


def _tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _wheel():
    return f"Wheel-Version: 1.0\nGenerator: locus\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def _entry(name, data):
    entry = zipfile.ZipInfo(name)  # with one date: the same sources make the same wheel
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry, data


def _files():
    for path in sorted((HERE / "locus").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(HERE).as_posix(), path.read_bytes()
    yield f"locus/{SONAME}", _library().read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version = _version()
    info, name = f"locus-{version}.dist-info", f"locus-{version}-{_tag()}.whl"
    record = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        files = list(_files()) + [(f"{info}/METADATA", _metadata().encode()), (f"{info}/WHEEL", _wheel().encode()),
                                  (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())]
        for path, data in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
            wheel.writestr(*_entry(path, data))
        record.append(f"{info}/RECORD,,\n")
        wheel.writestr(*_entry(f"{info}/RECORD", "".join(record)))
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("there is no source distribution of the Python package alone: its library is built from the "
                       "whole source tree; build a wheel there")
