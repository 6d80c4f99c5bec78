#!/usr/bin/env python3
"""Do the documents say what is there? Reads every Markdown file below a folder and looks for

  - links and anchors that lead nowhere
  - options of our programs that the program's --help does not know, targets that make does not have, scripts and sources
    that do not exist, variables LOCUS_... that no source reads, tests `suite/name` of a suite that has no such one,
    T= of `make` that chooses no test
  - code that is said to be shown from a file and is not in it
  - variables LOCUS_... that locus reads and docs/reference/variables.md does not name, or the other way round; commits that do not exist
  - lines of more than 120 columns, but in tables

    scripts/documents.py PROGRAMS [FOLDER]     PROGRAMS: the folder with locus and the trainers

Prints a line for each fault; the exit status is 1 then.
"""
import os
import pathlib
import re
import subprocess
import sys

COLUMNS = 120
TRAINERS = ("locus-ctr", "locus-gnn", "locus-kge", "locus-lasso", "locus-lda", "locus-mf", "locus-wv")
COMMANDS = ("run", "doctor", "top", "explain", "report", "trace", "checkpoint")
# Options of others' tools, as our documents name them.
FOREIGN = set("""--bind-to --cpu-bind --cpus-per-task --rdzv_backend --rdzv_endpoint --nproc_per_node --no_python --nnodes --master_port
    --standalone --redirects --tee --host --ntasks-per-node --nodes --from-file --security-opt --from-literal --cflags --libs
    --network --gpus --break --wrap --system-site-packages --break-system-packages --max_restarts
    --kill-on-bad-exit --wait --requeue --open-mode --oversubscribe --allow-run-as-root
    --model_name --data_path --hidden_dim --neg_sample_size --batch_size --num_proc --ip_config""".split())
faults = []


def fault(path, line, text):
    faults.append(f"{path}:{line}: {text}")


def markdown_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", "bin", ".git", ".cache")]
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Document:
    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8") as f:
            self.lines = f.read().split("\n")
        self.anchors, self.prose, self.code, self.blocks = set(), [], [], []
        self.read()

    def read(self):
        """Sorts lines into prose and code; blocks are what a marker says to be shown from a file."""
        source, block = None, None
        for number, line in enumerate(self.lines, 1):
            marker = re.match(r"<!-- shown from: (\S+) -->", line)
            if marker:
                source = marker.group(1)
            if line.startswith("```"):
                if block is None:
                    block = []
                else:
                    if source:
                        self.blocks.append((number, source, block))
                    source, block = None, None
            elif block is not None:
                block.append(line)
                self.code.append((number, line))
            elif line.startswith("    ") and not re.match(r" *([-*|]|\d+\.) ", line):
                self.code.append((number, line))
            else:
                self.prose.append((number, line))
                heading = re.match(r"#+ +(.*)", line)
                if heading:
                    self.add_anchor(slug(heading.group(1)))

    def add_anchor(self, anchor):
        name, n = anchor, 0
        while name in self.anchors:
            n += 1
            name = f"{anchor}-{n}"
        self.anchors.add(name)


def check_links(root, documents, d):
    for number, line in d.prose:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            place, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(d.path), place)) if place else d.path
            if not os.path.exists(os.path.join(root, path)):
                fault(d.path, number, f"there is no {target}")
            elif anchor and path in documents and anchor not in documents[path].anchors:
                fault(d.path, number, f"{path} has no heading #{anchor}")


def options_of(help_text):
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", help_text))


def read_help(programs):
    def run(*words):
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60, env=env).stdout
    env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}")  # commands in Python
    with open(os.path.join(os.path.dirname(__file__), "..", "python", "pyproject.toml"), encoding="utf-8") as f:
        in_python = re.findall(r"^(locus-[a-z]+) = ", f.read(), re.M)
    known = {name: options_of(run(os.path.join(programs, name), "--help")) for name in (*TRAINERS, *in_python)}
    locus = os.path.join(programs, "locus")
    known["locus"] = options_of(run(locus, "--help")).union(*(known[name] for name in in_python))
    for command in COMMANDS:
        known["locus"] |= options_of(run(locus, command, "--help"))
    return known


def check_command(d, number, text, known):
    """A line of a shell: from the name of one of our programs on, each option is that program's."""
    program = None
    for word in text.split("#")[0].replace("`", " ").split():
        name = os.path.basename(word)
        name = f"locus-{name}" if f"locus-{name}" in known else name
        if name in known and not word.startswith("-") and program != "locus-prepare":  # which is told a program's name
            program = name
        elif word in ("|", "&&", ";", "--"):
            program = None if word != "--" else "other"
        elif program in known and word.startswith("--"):
            option = re.match(r"--[\w-]*", word).group()
            if option != "--" and option not in known[program]:
                fault(d.path, number, f"{program} has no option {option}")


def check_options(d, known, benchmarks):
    everything = FOREIGN | benchmarks | set().union(*known.values())
    for number, line in d.code:
        check_command(d, number, line, known)
        for name in re.findall(r"(?:^|locus run -n \d+ (?:-- )?)(\w+) --", line.strip()):
            if f"locus-{name}" in known:
                fault(d.path, number, f"{name} is called locus-{name}")
    for number, line in d.prose:
        for span in re.findall(r"`([^`]+)`", line):
            check_command(d, number, span, known)
            for option in options_of(span):
                if option not in everything:
                    fault(d.path, number, f"nobody knows the option {option}")


def options_of_benchmarks(root):
    """They have no --help of all their options: what stands in their sources."""
    found = set()
    for folder in ("bench", "lab"):
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in (n for n in names if n.endswith((".c", ".h", ".py"))):
                with open(os.path.join(place, name), encoding="utf-8") as f:
                    found |= set(re.findall(r'"(--[a-z][\w-]*)"', f.read()))
    return found


def make_targets(root):
    targets = set()
    for folder in ("", "mk"):
        place = os.path.join(root, folder)
        for name in os.listdir(place):
            if name == "Makefile" or name.endswith(".mk"):
                with open(os.path.join(place, name), encoding="utf-8") as f:
                    for line in f:
                        if re.match(r"[a-z][a-z-]*( [a-z-]+)*:([^=]|$)", line):
                            targets.update(line.split(":")[0].split())
    return targets


def check_names(root, d, targets, variables):
    spans = [(n, s) for n, line in d.prose for s in re.findall(r"`([^`]+)`", line)]
    for number, text in d.code + spans:
        # At the beginning of a command: the word is common.
        for target in re.findall(r"(?:^|&& )\s*make ((?:[A-Z]+=\S+ )*[a-z][a-z-]*)(?=\s|$)", text):
            if target.split()[-1] not in targets:
                fault(d.path, number, f"make has no target {target}")
        for path in re.findall(r"(?<![\w./-])((?:scripts|examples|src|include|mk|docs|lab|bench)/[\w./-]*\.(?:sh|py|c|h|mk|md))", text):
            if not os.path.exists(os.path.join(root, path)):
                fault(d.path, number, f"there is no {path}")
        for name in re.findall(r"\bLOCUS_[A-Z_]*[A-Z]", text):
            if name not in variables:
                fault(d.path, number, f"no source knows {name}")


def known_variables(root):
    found = set()
    for folder in ("include", "src", "apps", "scripts", "test", "mk", "python"):
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(".md"):
                    continue
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as f:
                    found.update(re.findall(r"\bLOCUS_[A-Z_]*[A-Z]", f.read()))
    return found


def known_tests(root):
    """The names of each suite's tests; of those in Python the modules."""
    found = {path.stem: set() for path in pathlib.Path(root, "test").rglob("test_*.py")}
    for place, _, names in os.walk(os.path.join(root, "test")):
        for name in (n for n in names if n.endswith(".c")):
            with open(os.path.join(place, name), encoding="utf-8") as f:
                for suite, test in re.findall(r"^TEST\((\w+), (\w+)\)", f.read(), re.M):
                    found.setdefault(suite, set()).add(test)
    return found


def check_variables(root):
    """The table of docs/reference/variables.md has those of these sources, and no others."""
    sources = {"apps/locus/variables.c": "", "src/protocol/plan.c": r"\.variable = "}
    read = set()
    for source, before in sources.items():
        text = pathlib.Path(root, source).read_text(encoding="utf-8")
        read |= set(re.findall(before + r'"(LOCUS_[A-Z_]+)"', text))
    with open(os.path.join(root, "docs/reference/variables.md"), encoding="utf-8") as f:
        cells = [line.split("|")[1] for line in f if line.startswith("| `LOCUS_")]
    told = {name for cell in cells for name in re.findall(r"LOCUS_[A-Z_]+", cell) if f"`{name}`" in cell}
    for name in sorted(read - told):
        fault("docs/reference/variables.md", 1, f"the variable {name} is in no table")
    for name in sorted(told - read):
        fault("docs/reference/variables.md", 1, f"{' and '.join(sources)} do not know {name}")


def has_history(root):
    """A release, or a clone that was cut, has none to look commits up in."""
    shallow = subprocess.run(["git", "-C", root, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True,
                             check=False)
    return shallow.stdout.strip() == "false"


def check_commits(root, d):
    for number, line in d.prose:
        for name in re.findall(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b", line):
            # An object that is here may be of a branch that was thrown away: who clones gets the history alone.
            if subprocess.run(["git", "-C", root, "merge-base", "--is-ancestor", name, "HEAD"], capture_output=True,
                              check=False).returncode:
                fault(d.path, number, f"the history has no commit {name}")


def check_tests(d, tests):
    for number, line in d.prose:
        for suite, test in re.findall(r"`(\w+)/(\w+)`", line):
            if suite in tests and test not in tests[suite]:
                fault(d.path, number, f"there is no test {suite}/{test}")
    names = [f"{suite}/{test}" for suite in tests for test in tests[suite] or ("",)]
    for number, text in d.code:
        for chosen in re.findall(r"\bmake (?:test|cluster|programs-test) T=(\S+)", text):
            if not any(chosen in name for name in names):
                fault(d.path, number, f"there is no test with {chosen} in its name")


def check_blocks(root, d):
    for number, source, block in d.blocks:
        try:
            with open(os.path.join(root, source), encoding="utf-8") as f:
                text = f.read()
        except OSError:
            fault(d.path, number, f"there is no {source} to show from")
            continue
        if "\n".join(block) not in text:
            fault(d.path, number, f"the code above is not in {source}")


def check_columns(d):
    code = {number for number, _ in d.code}  # a command is one line
    for number, line in enumerate(d.lines, 1):
        if len(line) > COLUMNS and not line.startswith("|") and number not in code:
            fault(d.path, number, f"{len(line)} columns; at most {COLUMNS}")


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    root = sys.argv[2] if len(sys.argv) == 3 else "."
    known = read_help(sys.argv[1])
    benchmarks = options_of_benchmarks(root)
    targets, variables, tests = make_targets(root), known_variables(root), known_tests(root)
    is_checked_out = has_history(root)
    documents = {path: Document(root, path) for path in markdown_files(root)}
    for d in documents.values():
        check_links(root, documents, d)
        check_options(d, known, benchmarks)
        check_names(root, d, targets, variables)
        check_tests(d, tests)
        if is_checked_out:
            check_commits(root, d)
        check_blocks(root, d)
        check_columns(d)
    check_variables(root)
    for line in faults:
        print(line)
    print(f"{len(documents)} documents, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
