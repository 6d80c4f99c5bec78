"""What is installed works elsewhere: by pip, from a wheel, and by make. Nothing is fetched."""
import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

TRY = ("import locus, numpy as np\n"
       "with locus.open([locus.Table('a', 10, 4)]) as n, n.worker() as w: print(w.pull(np.arange(3)).shape)\n"
       "print(locus.__file__, locus._c.lib._name)")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Neither the sources nor an index are within reach.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LOCUS", "MAKE", "MFLAGS"))}
        self.environment.update(PIP_NO_INDEX="1", PIP_NO_CACHE_DIR="1", PIP_ROOT_USER_ACTION="ignore")

    def run_in(self, command, **more):
        ended = subprocess.run(command, cwd=self.folder, env=dict(self.environment, **more), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=400)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        return ended.stdout

    def works_in(self, place):
        shape, files = self.run_in([sys.executable, "-c", TRY], PYTHONPATH=str(place)).splitlines()
        self.assertEqual(shape, "(3, 4)")
        self.assertEqual([Path(f).parts[:len(place.parts)] for f in files.split()], [place.parts] * 2)

    def has_its_commands(self, place):
        listed = re.findall(r"^(locus-\w+) = ", (ROOT / "python" / "pyproject.toml").read_text(), re.M)
        self.assertIn("locus-prepare", listed)
        for name in listed:
            said = self.run_in([sys.executable, str(place / "bin" / name), "--help"], PYTHONPATH=str(place))
            self.assertRegex(said, f"^usage: {name.replace('-', '[- ]')}")

    def need_pip(self):
        if subprocess.run(PIP + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("there is no pip here (python3-pip)")

    def test_pip_install(self):
        self.need_pip()
        self.run_in(PIP + ["install", "--no-deps", "--target", "place", str(ROOT / "python")])
        self.works_in(self.folder / "place")
        self.has_its_commands(self.folder / "place")

    def test_wheel(self):
        self.need_pip()
        self.run_in(PIP + ["wheel", "--no-deps", "--wheel-dir", "wheels", str(ROOT / "python")])
        wheel, = (self.folder / "wheels").iterdir()
        self.run_in(PIP + ["install", "--no-deps", "--target", "place", str(wheel)])
        self.assertTrue((self.folder / "place" / "locus" / "torch" / "__init__.py").exists())
        self.works_in(self.folder / "place")

    def test_a_wheel_with_all_that_it_needs(self):
        self.need_pip()
        wheel = self.run_in(["make", "-s", "-C", str(ROOT), "wheel"]).split()[-1]
        self.assertRegex(wheel, r"-manylinux_2_(28_x86_64|\d+_aarch64)\.whl$")
        self.run_in(PIP + ["install", "--no-deps", "--target", "place", str(ROOT / wheel)])
        place = self.folder / "place"
        self.works_in(place)
        self.has_its_commands(place)
        away = {"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin"}
        for name in "ctr", "gnn", "kge", "lasso", "lda", "mf", "wv":
            said = self.run_in([sys.executable, str(place / "bin" / f"locus-{name}"), "--help"], **away)
            self.assertRegex(said, f"^usage: locus-{name} ")
        self.assertRegex(self.run_in([sys.executable, str(place / "bin" / "locus"), "prepare", "--help"], **away), "^usage: locus prepare")
        (self.folder / "cells").write_text("".join(f"{i % 7}\t{i % 5}\t{1 + i % 3}\n" for i in range(60)))
        two = [sys.executable, str(place / "bin" / "locus"), "run", "-n", "2", "--", "locus", "mf", "--data", "cells", "--epochs", "2"]
        self.assertIn("epoch   2", self.run_in(two, **away))
        (self.folder / "each.py").write_text(
            "import locus\n"
            "with locus.open([locus.Table('a', 10, 4)]) as node: rank, size = node.rank, node.size\n"
            "maps = [line.split()[-1] for line in open('/proc/self/maps') if '.so' in line]\n"
            "ours = {path.split('/')[-1] for path in maps if '/locus/' in path}\n"
            "print('rank', rank, size, sorted({'liblocus.so.0', 'libnng.so.1', 'libmbedtls.so.14', 'libhwloc.so.15'} - ours))\n")
        said = self.run_in([sys.executable, "-m", "locus", "run", "-n", "2", "each.py"], PYTHONPATH=str(place))
        for rank in range(2):
            self.assertIn(f"rank {rank} 2 []", said)
        licences, = place.glob("*.dist-info/licenses")
        self.assertEqual({path.name for path in (place / "locus" / "libs").iterdir()} & {"libc.so.6", "libm.so.6"}, set())
        self.assertGreater(len((licences / "LGPL-3").read_text()), 5000)

    @unittest.skipUnless(platform.machine() == "x86_64", "elsewhere a wheel is for the glibc that it was built with")
    def test_what_an_older_glibc_lacks_is_refused(self):
        sys.path.insert(0, str(ROOT / "python"))
        import backend
        (self.folder / "alone.c").write_text("int alone(void) { return 1; }\n")
        self.run_in(["cc", "-shared", "-nostdlib", "alone.c", "-o", "alone"])
        for call, said in ("time(0)", None), ("arc4random()", "does not have: arc4random$"):
            (self.folder / "newer.c").write_text(
                f"#include <stdlib.h>\n#include <time.h>\nint main(void) {{ return !{call}; }}\n")
            self.run_in(["cc", "newer.c", "-o", "newer"])
            with self.assertRaisesRegex(RuntimeError, said) if said else contextlib.nullcontext():
                backend._older([self.folder / "newer", self.folder / "alone"], self.folder / "older")

    def test_make_install_and_a_move(self):
        self.run_in(["make", "-C", str(ROOT), "install", "PREFIX=/opt/locus", f"DESTDIR={self.folder / 'stage'}"])
        shutil.move(str(self.folder / "stage" / "opt" / "locus"), str(self.folder / "moved"))
        self.works_in(self.folder / "moved" / "share" / "locus" / "python")

    def test_the_version_is_the_library_s(self):
        sys.path.insert(0, str(ROOT / "python"))
        import backend
        import locus
        self.assertEqual(locus.__version__, backend._version())
        self.assertEqual(locus._c.SONAME, f"liblocus.so.{backend._version().split('.')[0]}")
