"""What is installed works elsewhere: by pip, from a wheel, and by make. Nothing is fetched."""
import os
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

    def need_pip(self):
        if subprocess.run(PIP + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("there is no pip here (python3-pip)")

    def test_pip_install(self):
        self.need_pip()
        self.run_in(PIP + ["install", "--no-deps", "--target", "place", str(ROOT / "python")])
        self.works_in(self.folder / "place")

    def test_wheel(self):
        self.need_pip()
        self.run_in(PIP + ["wheel", "--no-deps", "--wheel-dir", "wheels", str(ROOT / "python")])
        wheel, = (self.folder / "wheels").iterdir()
        self.run_in(PIP + ["install", "--no-deps", "--target", "place", str(wheel)])
        self.assertTrue((self.folder / "place" / "locus" / "torch" / "__init__.py").exists())
        self.works_in(self.folder / "place")

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


if __name__ == "__main__":
    unittest.main()
