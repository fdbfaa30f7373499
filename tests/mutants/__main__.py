"""Changes a sample of the code that numbers depend on, and runs the tests of its room: `make mutants`.

Each mutant is one small change of one file in a copy of the tree. One that no test notices is printed as a diff.
"""

import argparse
import difflib
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

from mutants.forked import run_pytest
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
        ("tests/unit/tasks/connectors/client", "tests/unit/tasks/connectors/batch", "tests/contract/connectors"),
    ),
    "reuse": (("tasks/prompt/reuse.py",), ("tests/unit/tasks/prompt",)),
    "integrity": (("warehouse/build/integrity*.py",), ("tests/unit/warehouse/build/test_integrity.py",)),
}
"""Per room: the files that are changed, and the tests that have to notice."""
MODEL_EXAMPLES = "test_model_examples.py"
"""Names no model: its examples are next to the models."""
NAMING_FILES = 3
"""So many of a room's test files, those that name the mutant most often, run before the others."""
IMPORTED = ["pytest", "pytest_asyncio", "hypothesis", "numpy", "polars", "duckdb", "pydantic", "yaml", "prefect"]
"""Imported once: every run of tests is a fork of the process that has them. None of them is ever changed."""


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
    multiprocessing.get_context("forkserver").set_forkserver_preload(IMPORTED)
    with tempfile.TemporaryDirectory(prefix="biasgrid-mutants-") as folder:
        overlays: SimpleQueue[Path] = SimpleQueue()
        for number in range(parallel):
            overlays.put(copy_tree(Path(folder) / str(number)))

        def outcome(mutant: Mutant) -> tuple[Mutant, str]:
            overlay = overlays.get()
            started = time.monotonic()
            try:
                result = test(mutant, overlay, seconds)
            finally:
                overlays.put(overlay)
            taken = time.monotonic() - started
            print(f"{result:9}{taken:6.1f} s  {mutant.room:10}{mutant.file}: {mutant.mutation.name}", flush=True)
            return mutant, result

        with ThreadPoolExecutor(parallel) as pool:
            return list(pool.map(outcome, mutants))


def copy_tree(overlay: Path) -> Path:
    """With its bytecode: what is not changed is not compiled again."""
    overlay.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, overlay / name, symlinks=True)
        else:
            shutil.copy2(ROOT / name, overlay / name)
    return overlay


def test(mutant: Mutant, overlay: Path, seconds: float) -> str:
    """`killed`, `survived` or `timeout`. The overlay is as before afterwards."""
    path = overlay / mutant.file
    before = path.read_text(encoding="utf-8")
    write(path, mutant.mutation.apply(before))
    try:
        files = test_files(mutant)
        naming, others = files[:NAMING_FILES], files[NAMING_FILES:]
        result = run_tests(naming, overlay, seconds)
        return run_tests(others, overlay, seconds) if others and result == "survived" else result
    finally:
        write(path, before)


def write(path: Path, text: str) -> None:
    """Bytecode of another text may have the same size and second: it is deleted."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def run_tests(files: list[str], overlay: Path, seconds: float) -> str:
    process = multiprocessing.get_context("forkserver").Process(target=run_pytest, args=(files, overlay))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return "timeout"
    if process.exitcode == 1:
        raise RuntimeError("pytest itself did not start")
    return "killed" if process.exitcode else "survived"


def test_files(mutant: Mutant) -> list[str]:
    """The test files of the mutant's room, those first that name its file most often."""
    paths = [ROOT / name for name in ROOMS[mutant.room][1]]
    files = [file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])]

    def mentions(file: Path) -> int:
        if file.name == MODEL_EXAMPLES and (ROOT / mutant.file).with_suffix(".tests.yml").exists():
            return sys.maxsize
        return file.read_text(encoding="utf-8").count(mutant.file.stem)

    return [str(file.relative_to(ROOT)) for file in sorted(files, key=lambda file: (-mentions(file), str(file)))]


if __name__ == "__main__":
    main()
