# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the package, and the library that `make lib` has built beside it. pip calls this.

`make wheel` calls it, too, as `backend.py FOLDER LIBRARY PROGRAM...`: the wheel then carries the programs as well, and all
that library and programs need but glibc, with its licences. Its tag names the least glibc that its files ask for: on
x86-64 it is 2.28, older than that of the machine which builds it.

Of its own, because pip fetches a backend from the network for each build, and a wheel is a zip with four files of text.
LOCUS_LIBRARY names another library to carry than that of the source tree, which is built if it is not there.
"""
import base64
import hashlib
import os
import platform
import re
import struct
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SONAME = "liblocus.so.0"
# The oldest glibc that a wheel for x86-64 runs with.
OLDEST = (2, 28)
# What every system with glibc has, and what belongs to its version.
SYSTEM = ("linux-vdso.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libresolv.so.2",
          "libgcc_s.so.1")


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
            "Requires-Dist: torch; extra == 'torch'\nProvides-Extra: prepare\nRequires-Dist: networkx; extra == 'prepare'\n")


def _entry_points(carried=""):
    """The commands of pyproject.toml, and what the wheel carries besides."""
    scripts = re.findall(r'^(locus-\w+) = "(\S+)"', (HERE / "pyproject.toml").read_text(), re.M)
    return ("[console_scripts]\n" + carried + "".join(f"{name} = {at}\n" for name, at in scripts)).encode()


def _entry(name, data):
    entry = zipfile.ZipInfo(name)  # with one date: the same sources make the same wheel
    mode = 0o100755 if "/bin/" in name else 0o100644
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, mode << 16
    return entry, data


def _said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _needed(path):
    """The libraries that a file needs, and those that they need: names and paths."""
    lines = _said("ldd", str(path))
    if "not found" in lines:
        raise RuntimeError(f"{path} needs what is not here:\n{lines}")
    return {name: Path(at) for name, at in re.findall(r"^\s*(\S+) => (/\S+)", lines, re.M)
            if name not in SYSTEM and not name.startswith("ld-linux")}


def _without_newer_versions(data):
    """An ELF file in which no name has a version of glibc above OLDEST: such names have none, and the loader takes what
    there is. Also those names. packaging/older_glibc.c has what the oldest lacks."""
    data, names = bytearray(data), set()
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3a)
    sections = [struct.unpack_from("<4xI16xQQI", data, table + i * size) for i in range(count)]
    of_type = {kind: (at, length, link) for kind, at, length, link in sections}
    if 0x6ffffffe not in of_type:  # it needs no versions
        return bytes(data), names
    needs, _, link = of_type[0x6ffffffe]
    _, strings, length, _ = sections[link]

    def text(offset):
        return data[strings + offset:data.index(0, strings + offset)].decode()

    base, newer, step = data.find(b"\0GLIBC_2.2.5\0", strings, strings + length) + 1 - strings, set(), 1
    while step:
        aux, step = struct.unpack_from("<8xII", data, needs)
        at, further = needs + aux, 1
        while further:
            index, name, further = struct.unpack_from("<6xHII", data, at)
            if text(name).startswith("GLIBC_ABI_"):  # what a loader has to know: no name, and nothing replaces it
                names.add(text(name))
            version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)", text(name))
            if version and (int(version[1]), int(version[2])) > OLDEST:
                newer.add(index)
                struct.pack_into("<I", data, at, 0x09691a75)  # as GLIBC_2.2.5 hashes
                struct.pack_into("<I", data, at + 8, base)
            at += further
        needs += step
    if newer and not base > 0:
        raise RuntimeError("needs newer names of glibc, and none of GLIBC_2.2.5, whose version they would get")
    versions, length, _ = of_type[0x6fffffff]
    symbols = of_type[11][0]
    for i in range(length // 2):
        if struct.unpack_from("<H", data, versions + 2 * i)[0] in newer:
            struct.pack_into("<H", data, versions + 2 * i, 1)
            names.add(text(*struct.unpack_from("<I", data, symbols + 24 * i)))
    return bytes(data), names


def _older(paths, folder):
    """Copies of files for glibc OLDEST, in a folder. Without a version, the loader takes a name's first one or its
    default: the same, unless a name had several in OLDEST."""
    library = str(paths[0])
    system = re.findall(r"=> (\S+/lib[cm]\.so\.6) ", _said("ldd", library))
    known = {}
    defined = _said("nm", "-D", "--defined-only", library, *system)
    for name, version in re.findall(r"^\w+ \w (\w+)(@.*)?$", defined, re.M):
        numbers = re.search(r"GLIBC_(\d+)\.(\d+)", version)
        if not numbers or (int(numbers[1]), int(numbers[2])) <= OLDEST:
            known.setdefault(name, set()).add(numbers and numbers[0])
    folder.mkdir(exist_ok=True)
    copies = []
    for path in paths:
        data, names = _without_newer_versions(path.read_bytes())
        unknown = sorted(name for name in names if len(known.get(name, ())) != 1)
        if unknown:
            raise RuntimeError(f"{path} needs what glibc {'%d.%d' % OLDEST} does not have: {', '.join(unknown)}")
        copies.append(folder / path.name)
        copies[-1].write_bytes(data)
    if _least_glibc(copies) > OLDEST:
        raise RuntimeError(f"the files in {folder} need glibc {'%d.%d' % _least_glibc(copies)}")
    return copies


def _least_glibc(paths):
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", "".join(_said("readelf", "-VW", str(path)) for path in paths))
    return max((int(major), int(minor)) for major, minor in versions)


def _licences(path):
    """Of the Debian package that a library comes from, and what that refers to: names and texts."""
    real = os.path.realpath(path)
    for name in (real, real.replace("/usr/lib/", "/lib/", 1), "/usr" + real):
        found = subprocess.run(["dpkg", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            text = (Path("/usr/share/doc") / package / "copyright").read_bytes()
            common = sorted(set(re.findall(rb"/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]", text)))
            return [(package, text)] + [(Path(os.fsdecode(each)).name, Path(os.fsdecode(each)).read_bytes())
                                        for each in common]
    raise RuntimeError(f"{path} belongs to no Debian package: its licence is not known")


def _carried(library, programs):
    """Files beside the package, by name; and the tag."""
    needed = {name: at for path in (library, *programs) for name, at in _needed(path).items()}
    paths = [library, *programs, *needed.values()]
    if platform.machine() == "x86_64":
        paths = _older(paths, library.parent / "older")
    carried, libraries = paths[1:1 + len(programs)], paths[1 + len(programs):]
    files = {f"locus/libs/{name}": path.read_bytes() for name, path in sorted(zip(needed, libraries))}
    files[f"locus/{SONAME}"] = paths[0].read_bytes()
    files.update((f"locus/bin/{path.name}", path.read_bytes()) for path in carried)
    info = f"locus-{_version()}.dist-info"
    files.update((f"{info}/licenses/{name}", text) for path in needed.values() for name, text in _licences(path))
    files[f"{info}/entry_points.txt"] = _entry_points("".join(f"{path.name} = locus.__main__:main\n" for path in carried))
    major, minor = _least_glibc(paths)
    return files, f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"


def _files():
    for path in sorted((HERE / "locus").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield path.relative_to(HERE).as_posix(), path.read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {f"locus/{SONAME}": _library().read_bytes(),
                                    f"locus-{_version()}.dist-info/entry_points.txt": _entry_points()},
                  "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform()))


def _write(wheel_directory, carried, tag):
    version = _version()
    info, name = f"locus-{version}.dist-info", f"locus-{version}-{tag}.whl"
    about = f"Wheel-Version: 1.0\nGenerator: locus\nRoot-Is-Purelib: false\nTag: {tag}\n"
    record = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        files = list(_files()) + list(carried.items()) + [
            (f"{info}/METADATA", _metadata().encode()), (f"{info}/WHEEL", about.encode()),
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


if __name__ == "__main__":
    print(Path(sys.argv[1]) / _write(sys.argv[1], *_carried(Path(sys.argv[2]), [Path(each) for each in sys.argv[3:]])))
