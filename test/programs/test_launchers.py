"""Clusters that others' launchers start: mpirun of Open MPI, torchrun, srun of a Slurm of the test's own, pdsh without
ssh, and what an indexed job of Kubernetes sets. The variables of launchers that are not here are in
unit/environment_test.c."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import support
from support import LOCUS, MEMBER


class Launched(support.TestCase):
    def joined(self, commands, nodes, **more):
        """All at once; each, or with `together` all of them, is a cluster of so many."""
        together = more.pop("together", False)
        started = [self.start(command, **more) for command in commands]
        for job in started:
            self.assertEqual(job.wait(), 0, job)
        texts = [job.out for job in started]
        for text in ["".join(texts)] if together else texts:
            self.contains(text, support.joined(nodes))


GUIDE = (Path(__file__).resolve().parents[2] / "docs/guides/launchers.md").read_text()
[SCRIPT] = re.findall("^(#!/bin/bash\n#SBATCH .*?)^```", GUIDE, re.M | re.S)


# As root it asks whether that is meant, and it counts cores. Its folder of sessions is one for all of a user: an mpirun
# that ends removes it while another one begins. So each gets its own.
MPIRUN = ("folder=$(mktemp -d) && trap 'rm -rf \"$folder\"' EXIT && "
          "TMPDIR=$folder mpirun --allow-run-as-root --oversubscribe")


class OpenMpi(Launched):
    def setUp(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun here")
        if "Open MPI" not in self.run_command(f"{MPIRUN} --version").out:
            self.skipTest("mpirun is not that of Open MPI")
        if not self.can(f"{MPIRUN} -n 2 true"):
            self.skipTest("mpirun starts nothing here")

    def test_mpirun_starts_clusters_also_beside_each_other(self):
        self.joined([f"{MPIRUN} -n 3 {MEMBER}"] * 3, 3)
        self.joined([f"{MPIRUN} -n 1 {MEMBER}"], 1)

    def test_mpirun_passes_a_rendezvous(self):
        address = f"127.0.0.1:{support.free_port()}"
        self.joined([f"{MPIRUN} -x LOCUS_RENDEZVOUS -n 2 {MEMBER}"], 2, env={"LOCUS_RENDEZVOUS": address})
        ended = self.run_command(f"{MPIRUN} -x LOCUS_RENDEZVOUS=nowhere -n 2 {MEMBER}")
        self.assertNotEqual(ended.status, 0)
        self.assertIn('the rendezvous "nowhere"', ended.err)

    def test_taskset_is_respected_by_what_is_not_bound(self):
        if len(os.sched_getaffinity(0)) < 2 or not shutil.which("taskset"):
            self.skipTest("there is one processor, or no taskset")
        last = max(os.sched_getaffinity(0))
        mpirun = MPIRUN.replace("mpirun", f"taskset -c {last} mpirun --bind-to none")
        self.assertEqual(self.must(f"{mpirun} -n 2 grep Cpus_allowed_list: /proc/self/status").split()[1::2],
                         [str(last)] * 2)

    def test_locus_run_inside_mpirun_is_a_cluster_of_its_own(self):
        self.joined([f"{MPIRUN} -n 2 {LOCUS} run -n 3 -- {MEMBER}"], 3)


class Torchrun(Launched):
    def setUp(self):
        # Debian's first: another Python in the path may have no torch.
        self.torchrun = shutil.which("torchrun", path=f"/usr/bin:{os.environ['PATH']}")
        if not self.torchrun:
            self.skipTest("there is no torchrun here (python3-torch)")
        if not self.can(f"{self.torchrun} --help"):
            self.skipTest("torchrun does not run here")
        # --standalone takes one port for all who test here. That of Debian 12 (1.13 with Python 3.11) fails unless it
        # redirects something.
        store = f"127.0.0.1:{support.free_port()}"
        self.torchrun = (f"exec {self.torchrun} --rdzv_backend c10d --rdzv_endpoint {store} --rdzv_id locus "
                         "--redirects 1 --tee 1 --no_python")

    def test_starts_a_cluster(self):
        self.joined([f"{self.torchrun} --nproc_per_node 3 {MEMBER}"], 3)

    def test_starts_a_cluster_of_two_agents(self):
        """As on two hosts. Each learns from the other where rank 0 is."""
        self.joined([f"{self.torchrun} --nnodes 2 --nproc_per_node 2 {MEMBER}"] * 2, 4, together=True)


class Pdsh(Launched):
    def test_line_of_the_guide_starts_a_cluster(self):
        """But for ssh, and for what differs from host to host."""
        if not self.can("pdsh -R exec -w n1 true"):
            self.skipTest("there is no pdsh here")
        [line] = re.findall("^    (pdsh .*)", GUIDE, re.M)
        secret = Path(self.folder()) / "secret"
        secret.write_text("sesame")
        for old, new in (("ssh %h ", ""), ("h1:7777", f"127.0.0.1:{support.free_port()}"),
                         ("$HOME/.locus-secret", str(secret)), ("./trainer", MEMBER)):
            self.assertIn(old, line)
            line = line.replace(old, new)
        self.joined([line], 4)
        self.run_command(line.replace(MEMBER, "sh -c 'test $LOCUS_RANK != 2 || exit 3'"), 3)


class Kubernetes(Launched):
    def test_variables_of_an_indexed_job_are_a_cluster(self):
        """Those of the guide, as each pod would have them."""
        port = support.free_port()
        pod = {"LOCUS_SIZE": "4", "LOCUS_RENDEZVOUS": f"localhost:{port}", "LOCUS_LISTEN": "127.0.0.1",
               "LOCUS_SECRET": "sesame"}
        self.assertEqual(set(re.findall(r"name: (LOCUS_\w+)", GUIDE)), {"LOCUS_RANK", "LOCUS_JOIN_TIMEOUT", *pod})
        started = [self.start(f"exec {MEMBER}", env=dict(pod, LOCUS_RANK=str(rank))) for rank in range(4)]
        for job in started:
            self.assertEqual(job.wait(), 0, job)
        self.contains("".join(job.out for job in started), support.joined(4))


class Script(Launched):
    def test_ends_for_good_when_it_should(self):
        """That of the guide, with what stands for Slurm."""
        folder = Path(self.folder())
        for name, text in (("srun", "#!/bin/sh\nexit $STATUS"), ("scontrol", '#!/bin/sh\necho "$*"'), ("script", SCRIPT)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        for status, restarts, requeues in ((0, 3, 0), (1, 0, 1), (2, 0, 0), (137, 9, 1), (137, 10, 0)):
            env = {"PATH": f"{folder}:{os.environ['PATH']}", "STATUS": str(status), "SLURM_JOB_ID": "7",
                   "SLURM_RESTART_COUNT": str(restarts), "SLURM_CPUS_PER_TASK": "1"}
            with self.subTest(status=status, restarts=restarts):
                self.assertEqual(self.run_command(str(folder / "script"), status, env=env).out, "requeue 7\n" * requeues)


SLURM_CONF = """\
ClusterName=locus
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES State=UP
"""
MUNGED = ("umask 077 && head -c 1024 /dev/urandom > key && umask 022 && exec munged --foreground --force "
          "--key-file=$PWD/key --socket=$PWD/munge.socket --pid-file=$PWD/munged.pid --log-file=$PWD/munged.log "
          "--seed-file=$PWD/seed")


class Slurm(Launched):
    """This host alone, with its three daemons. It has more processors than there are, so that tasks fit; they are
    neither bound nor in control groups."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("Slurm's daemons need root")
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        if not all(map(shutil.which, ("munged", "slurmctld", "slurmd", "srun"))):
            raise unittest.SkipTest("there is no Slurm here (slurm-wlm, munge)")
        temporary = tempfile.TemporaryDirectory(prefix="locus-slurm-")
        cls.addClassCleanup(temporary.cleanup)
        cls.place = Path(temporary.name)
        cls.place.chmod(0o755)
        ports = [support.free_port(), support.free_port()]
        host = socket.gethostname().split(".")[0]
        (cls.place / "slurm.conf").write_text(SLURM_CONF.format(host=host, folder=cls.place, ports=ports))
        os.environ["SLURM_CONF"] = str(cls.place / "slurm.conf")
        cls.daemon(f"cd {cls.place} && {MUNGED}", f"test -S {cls.place}/munge.socket")
        cls.daemon("exec slurmctld -D -i -c", "sinfo")
        cls.daemon("exec slurmd -D", "sinfo -h -o %t | grep -q idle")

    @classmethod
    def daemon(cls, command, is_up):
        started = support.Started(command)
        cls.addClassCleanup(started.close)
        deadline = time.monotonic() + support.HANG_S
        while subprocess.run(is_up, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > deadline or started.process.poll() is not None:
                raise unittest.SkipTest(f"Slurm's daemons do not start here: {started}")
            time.sleep(.05)

    def test_srun_starts_clusters_also_beside_each_other(self):
        self.joined([f"exec srun -N 1 -n 3 {MEMBER}"] * 3, 3)
        self.joined([f"exec srun -N 1 -n 1 {MEMBER}"], 1)

    def test_steps_of_a_batch_job_are_clusters(self):
        """In the script itself a program is a cluster of one; each step is a cluster of its own."""
        (self.place / "job").write_text(f"#!/bin/sh\n{MEMBER}\nsrun --exact -n 2 {MEMBER} & "
                                        f"srun --exact -n 3 {MEMBER}\nwait\necho ended\n")
        self.must(f"cd {self.place} && sbatch -N 1 -n 5 -o out job")
        out = self.place / "out"
        support.wait_until(lambda: out.exists() and "ended\n" in out.read_text(), "the job does not end")
        for nodes in (1, 2, 3):
            self.contains(out.read_text(), support.joined(nodes))

    def submit(self, program):
        """The script of the guide, with that program."""
        script = SCRIPT
        for old, new in (("--nodes=4 --ntasks-per-node=1 --cpus-per-task=8", "--nodes=1 --ntasks-per-node=2 --cpus-per-task=1"),
                         ("export LOCUS_SECRET_FILE=$HOME/.locus-secret\n", ""),
                         ("locus-kge --data my-graph --checkpoint $HOME/model --resume", program)):
            self.assertIn(old, script)
            script = script.replace(old, new)
        (self.place / "script").write_text(script)
        return self.must(f"cd {self.place} && sbatch --parsable -o script.%j script").strip()

    def await_job(self, job, *parts):
        """Until all of this is shown of it. What is to begin in two minutes begins now."""
        def shown():
            text = self.must(f"scontrol show job {job}")
            if "Reason=BeginTime" in text:
                self.run_command(f"scontrol update jobid={job} StartTime=now")
            return all(part in text for part in parts)
        support.wait_until(shown, lambda: self.must(f"scontrol show job {job}"), pause=.5)

    def test_script_of_the_guide_requeues_what_was_killed_and_no_wrong_option(self):
        self.await_job(self.submit(f"{MEMBER} --no-such-option"), "JobState=FAILED", "Restarts=0", "ExitCode=2:0")
        job = self.submit("sh -c 'test -n \"$SLURM_RESTART_COUNT\" || test $SLURM_PROCID = 0 || kill -9 $$; "
                          f"test -n \"$SLURM_RESTART_COUNT\" || exit 1; exec {MEMBER}'")
        self.await_job(job, "JobState=COMPLETED", "Restarts=1")
        self.contains((self.place / f"script.{job}").read_text(), support.joined(2))

    def test_a_node_that_fails_ends_the_step(self):
        ended = self.run_command(f"srun -N 1 -n 3 --kill-on-bad-exit=1 sh -c 'test $SLURM_PROCID != 1 || exit 3; "
                                 f"exec {MEMBER}'")
        self.assertNotEqual(ended.status, 0)
        self.assertIn("exit code 3", ended.err)
