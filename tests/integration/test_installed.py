"""The wheel next to other packages: a user's own `flows/`, `tasks.py` and `catalogs/`, and a foreign wheel's."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.drill

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("flows", "tasks", "catalogs", "warehouse", "deployments")
SCENARIO = """
timestamp: 1
aiModels: [simulated/constant-no]
nTemplates: 1
nRetries: 0
temperature: 0
tokens: 50
useLLMEval: false
requirements:
  - name: Tiny
    rationale: A small one.
    languages: [en_us]
    tolerance: 0.9
    delta: 0.1
    concern: sexism
    markup: GENDER
    communities: {en_us: [women, men]}
    inputs: [constrained]
    reflections: [observational]
"""
COMMAND = "from biasgrid.flows.cli.process import run; run()"


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel, and what a user's directory and other packages hold."""

    python: Path
    packages: Path
    folder: Path

    def run(self, *arguments: str, code: int = 0) -> str:
        """Standard output and error of Python with these arguments, in the user's directory."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"PREFECT_HOME": str(self.folder / ".prefect"), "HOME": str(self.folder)}
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, env=kept | own, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The interpreter and `site-packages` of an environment with the wheel, and without the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=True)
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(packages)
    checkout = (ROOT, ROOT / "src")
    dependencies = [path for path in sys.path if path and Path(path) not in checkout and "python3" not in path]
    dependencies += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "z_dependencies.pth").write_text("\n".join(dependencies))
    return folder / "venv" / "bin" / "python", packages


@pytest.fixture
def installed(environment: tuple[Path, Path], tmp_path: Path) -> Installed:
    """In a directory in which every name that was once ours is the user's own."""
    python, packages = environment
    for name in FOREIGN[:1] + FOREIGN[2:]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ImportError('the user\\'s own {name}')")
    (tmp_path / "tasks.py").write_text("raise ImportError('the user\\'s own tasks')")
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    return Installed(python, packages, tmp_path)


def install_foreign(packages: Path) -> None:
    for name in FOREIGN:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("OWNER = 'foreign'")
        (packages / name / "api.py").write_text("OWNER = 'foreign'")


def uninstall_foreign(packages: Path) -> None:
    for name in FOREIGN:
        shutil.rmtree(packages / name)


def test_a_run_and_a_foreign_wheel_leave_each_other_alone(installed):
    install_foreign(installed.packages)
    try:
        text = installed.run("-P", "-c", COMMAND, "run", "tiny.yaml", "--data", "data", "--yes", code=1)
        assert "Exit code 1: at least one requirement is not met" in " ".join(text.split())
        assert installed.run("-P", "-c", "import flows.api; print(flows.api.OWNER)").strip() == "foreign"
    finally:
        uninstall_foreign(installed.packages)
    rebuilt = installed.run("-P", "-c", COMMAND, "warehouse", "build", "--data", "data")
    assert rebuilt.strip() == str(installed.folder / "data" / "biasgrid.duckdb")


def test_the_python_entry_and_the_server_are_ours_next_to_a_users_own_packages(installed):
    assert installed.run("-c", "from biasgrid import Benchmark; print(Benchmark.__module__)").startswith(
        "biasgrid."
    )
    found = "from biasgrid.deployments.serving import serve; print(serve.__module__)"
    assert installed.run("-P", "-c", found).strip() == "biasgrid.deployments.serving"
    assert "Usage" in installed.run("-P", "-c", COMMAND, "serve", "--help")


def test_the_notebook_runs_outside_the_checkout(installed):
    installed.run("-P", "-c", COMMAND, "run", "tiny.yaml", "--data", "data", "--yes", code=1)
    notebook = json.loads((ROOT / "docs" / "guides" / "analysis.ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = "import biasgrid; print(biasgrid.__file__, findings['requirement'].to_list(), weakest.height)"
    assert installed.run("-P", "-c", "\n".join([*code, shown])).split() == [
        str(installed.packages / "biasgrid" / "__init__.py"),
        "['Tiny']",
        "1",
    ]


OLD_ENTRYPOINT = """
import warnings
from prefect.flows import load_flow_from_entrypoint
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(load_flow_from_entrypoint("flows.nightly.nightly").fn.__module__)
print([str(one.message) for one in caught if "flows.nightly" in str(one.message)])
"""


def test_an_old_deployments_entrypoint_loads_with_a_warning(installed):
    shutil.rmtree(installed.folder / "flows")  # which Prefect, and with it the old entrypoint, would find first
    text = installed.run("-P", "-c", OLD_ENTRYPOINT)
    assert text.splitlines()[0] == "biasgrid.flows.scheduled.flow"
    assert "`flows.nightly` is now `biasgrid.flows.scheduled.flow`; the old name is removed in 0.2" in text


def test_a_users_own_package_wins_over_an_old_name(installed):
    (installed.folder / "flows" / "__init__.py").write_text("")
    (installed.folder / "flows" / "api.py").write_text("OWNER = 'user'")
    assert installed.run("-c", "import flows.api; print(flows.api.OWNER)").strip() == "user"
    missing = installed.run("-c", "import flows.nightly", code=1)
    assert "No module named 'flows.nightly'" in missing
