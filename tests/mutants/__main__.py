"""Changes a sample of the code that numbers depend on, and runs the tests of its room: `make mutants`.

Each mutant is one small change of one file in a copy of the tree. One that no test notices is printed as a diff.
"""

import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

from mutants.mutations import Mutation, python_mutations, sql_mutations

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "src",
    "flows",
    "tasks",
    "catalogs",
    "warehouse",
    "deployments",
    "docs",
    "tests",
    "pyproject.toml",
    "README.md",
)
ROOMS = {
    "oracles": (("tasks/evaluate/oracles/*.py",), ("tests/unit/tasks/evaluate",)),
    "macros": (("warehouse/macros/*.sql",), ("tests/unit/warehouse/statistics", "tests/unit/warehouse/marts")),
    "marts": (
        ("warehouse/models/marts/**/*.sql", "warehouse/models/intermediate/**/*.sql"),
        ("tests/unit/warehouse/marts", "tests/unit/warehouse/build"),
    ),
    "retry": (
        ("tasks/connectors/client/retry*.py", "tasks/connectors/client/error_mapping.py"),
        ("tests/unit/tasks/connectors/client", "tests/contract/connectors"),
    ),
    "reuse": (("tasks/prompt/reuse.py",), ("tests/unit/tasks/prompt",)),
    "integrity": (("warehouse/build/integrity*.py",), ("tests/unit/warehouse/build/test_integrity.py",)),
}
"""Per room: the files that are changed, and the tests that have to notice."""


@dataclass(frozen=True)
class Mutant:
    room: str
    file: Path
    mutation: Mutation

    def diff(self) -> str:
        before = (ROOT / self.file).read_text(encoding="utf-8")
        lines = [text.splitlines(keepends=True) for text in (before, self.mutation.apply(before))]
        return "".join(difflib.unified_diff(*lines, str(self.file), self.mutation.name, n=1))


def main() -> None:
    wanted = options()
    chosen = sample(wanted.sample, wanted.seed, wanted.rooms)
    outcomes = run(chosen, wanted.parallel, wanted.seconds)
    for room in wanted.rooms:
        counts = Counter(outcome for mutant, outcome in outcomes if mutant.room == room)
        print(f"{room}: {counts['killed']} killed, {counts['timeout']} timed out, {counts['survived']} survived")
    for mutant, outcome in outcomes:
        if outcome == "survived":
            print(f"\n{mutant.diff()}")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=7, help="the same seed draws the same mutants")
    parser.add_argument("--seconds", type=float, default=600, help="time limit of one mutant's tests")
    parser.add_argument("--parallel", type=int, default=2, help="mutants tried at a time")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    return parser.parse_args()


def sample(count: int, seed: int, rooms: list[str]) -> list[Mutant]:
    """As many mutants of each room, as far as it has so many."""
    shuffled = []
    for room in rooms:
        mutants = room_mutants(room)
        random.Random(f"{seed}/{room}").shuffle(mutants)
        shuffled.append(mutants)
    return [mutant for turn in zip_longest(*shuffled) for mutant in turn if mutant is not None][:count]


def room_mutants(room: str) -> list[Mutant]:
    files = sorted({path for pattern in ROOMS[room][0] for path in ROOT.glob(pattern)})
    return [
        Mutant(room, path.relative_to(ROOT), mutation)
        for path in files
        for mutation in (sql_mutations if path.suffix == ".sql" else python_mutations)(path.read_text("utf-8"))
    ]


def run(mutants: list[Mutant], parallel: int, seconds: float) -> list[tuple[Mutant, str]]:
    with tempfile.TemporaryDirectory(prefix="biasgrid-mutants-") as folder:
        overlays: SimpleQueue[Path] = SimpleQueue()
        for number in range(parallel):
            overlays.put(copy_tree(Path(folder) / str(number)))

        def outcome(mutant: Mutant) -> tuple[Mutant, str]:
            overlay = overlays.get()
            try:
                result = test(mutant, overlay, seconds)
            finally:
                overlays.put(overlay)
            print(f"{result:9}{mutant.room:10}{mutant.file}: {mutant.mutation.name}", flush=True)
            return mutant, result

        with ThreadPoolExecutor(parallel) as pool:
            return list(pool.map(outcome, mutants))


def copy_tree(overlay: Path) -> Path:
    overlay.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, overlay / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, overlay / name)
    return overlay


def test(mutant: Mutant, overlay: Path, seconds: float) -> str:
    """`killed`, `survived` or `timeout`. The overlay is as before afterwards."""
    path = overlay / mutant.file
    before = path.read_text(encoding="utf-8")
    path.write_text(mutant.mutation.apply(before), encoding="utf-8")
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not drill"]
    environment = {**os.environ, "PYTHONPATH": str(overlay / "src")}
    try:
        ended = subprocess.run(
            [*command, *test_files(mutant)], cwd=overlay, env=environment, timeout=seconds, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_text(before, encoding="utf-8")
    return "killed" if ended.returncode else "survived"


def test_files(mutant):
    """The test files of the mutant's room, those first that name its file most often."""
    paths = [ROOT / name for name in ROOMS[mutant.room][1]]
    files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]
    mentions = defaultdict(int, {file: file.read_text(encoding="utf-8").count(mutant.file.stem) for file in files})
    return [str(file.relative_to(ROOT)) for file in sorted(files, key=lambda file: (-mentions[file], str(file)))]


if __name__ == "__main__":
    main()
