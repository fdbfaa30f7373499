"""The house itself: what is installed, what the wheel carries, which room imports which, and sizes."""

import ast
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from biasgrid.warehouse.schemas import KINDS
from support import house_rules
from support.house_rules import Tree
from support.paths import ROOT

PACKAGES = ("catalogs", "deployments", "flows", "tasks", "warehouse")
VERBS = (
    *("generate", "prompt", "evaluate", "aggregate", "augment", "review"),
    *("probe", "redteam", "interaction", "audit", "finetuning", "report"),
)
BENEATH = ("connectors", "transcripts")
"""Rooms of `tasks` that every verb may use."""
SHARED = {"warehouse", "catalogs", *(f"tasks.{room}" for room in BENEATH)}
BELOW = {
    "catalogs": {"catalogs"},
    "warehouse": {"warehouse", "catalogs"},
    **{f"tasks.{room}": {f"tasks.{room}", "warehouse", "catalogs"} for room in BENEATH},
    **{f"tasks.{verb}": {f"tasks.{verb}", *SHARED} for verb in VERBS},
}
"""Which rooms each may import."""

OUTER_EDGES = (
    "flows.cli.commands.main",
    "flows.scheduled.flow.nightly",
    "tasks.aggregate.task._may_help",
    "warehouse.expectations.__main__.answer",
    "warehouse.expectations.__main__.judge",
)
"""Functions that may handle any exception without raising: where a process or a retry ends, with the reason."""

REGISTRIES = {
    "tasks.connectors.providers.*": "tasks.connectors.registry",
    "tasks.evaluate.oracles.*": "catalogs.schema.oracle",
    "tasks.report.formats.*": "flows.results.report_formats",
    "catalogs.importers.*": "catalogs.importers.formats",
    "catalogs.importers.bbq.*": "catalogs.importers.formats",
    "catalogs.logs.formats.*": "catalogs.logs.tools",
    "flows.*.kind": "flows.runs.kinds",
}
"""Modules that are entries, and the module that names each of them."""

PROMISED_NAMES = {
    "told": "the previous name of a group's `introduction` in catalogs of probes",
    "hears": "whose messages a round of an interaction's file receives",
    "said": "a wording in catalogs of interactions, and a column of int_understandings",
    "tell": "the position in a file of Python",
}
"""Banned words that files of users, columns and libraries have as names, each with its reason."""

PROMISED_TEXTS = {
    ("tasks.evaluate.judge", "told"): "a prompt",
    ("tasks.evaluate.readers.assignments.marks", "tell"): "a pattern of replies",
    ("tasks.transcripts.plays", "said"): "a column",
    ("analysts.md", "tell"): "the name of an example query",
    ("run.js", "beside"): "an anchor of report pages",
    ("interaction-parts.html.j2", "nobody"): "a placeholder of the pages' texts",
}
"""Banned words that are data where they stand, each with its reason."""

BREACHES = {
    "crowded rooms": 0,
    "sparse rooms": 0,
    "small modules": 0,
    "circles": 0,
    "room circles": 0,
    "many parameters": 0,
    "long functions": 0,
    "bare participles": 0,
    "broad excepts": 0,
    "executed data": 0,
    "unpaired models": 0,
    "whimsical modules": 0,
    "banned words in messages": 0,
    "unregistered": 0,
    "banned words": 0,
}
"""How often each rule may be broken. The numbers only go down."""

SIZES = {"product lines": 95_050, "modules": 516, "test lines": 66_580, "median function": 9}
"""How large each may be. Larger numbers need a reason in their commit."""


@pytest.mark.parametrize("package", PACKAGES)
def test_each_top_level_package_is_this_projects(package):
    found = importlib.import_module(f"biasgrid.{package}").__file__
    assert found is not None
    assert Path(found).resolve() == ROOT / package / "__init__.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_every_data_file(wheel):
    carried = set(wheel.namelist())
    data = [
        f"biasgrid/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for kind in ("*.sql", "*.yml", "*.yaml", "*.json", "*.j2", "*.html", "*.css", "*.js", "*.py")
        for path in (ROOT / package).rglob(kind)
    ]
    assert len(data) > 100
    assert set(data) - carried == set()


def test_the_wheel_holds_no_tests_and_cannot_be_published_by_accident(wheel):
    names = wheel.namelist()
    assert not [name for name in names if name.startswith("tests/")]
    metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "Classifier: Private :: Do Not Upload" in metadata


def test_every_room_of_the_tasks_has_its_place():
    rooms = {path.parent.name for path in (ROOT / "tasks").glob("*/__init__.py")}
    assert rooms == {*VERBS, *BENEATH}


def _third_party_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"biasgrid"}


def test_every_package_that_product_code_imports_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    stated = [*project["dependencies"], *extras["finetune"], *extras["anthropic"]]
    declared = {canonicalize_name(Requirement(one).name) for one in stated}
    imported = {
        name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in _third_party_imports(path)
    }
    installed = importlib.metadata.packages_distributions()
    undeclared = {
        name for name in imported if not {canonicalize_name(one) for one in installed.get(name, [name])} & declared
    }
    assert len(imported) > 20
    assert undeclared == set()


@pytest.fixture(scope="module")
def product() -> Tree:
    return Tree(ROOT, PACKAGES)


@pytest.fixture(scope="module")
def all_python() -> Tree:
    return Tree(ROOT, (*PACKAGES, "tests"))


@pytest.mark.parametrize("room", BELOW)
def test_rooms_import_downwards_only(room, product):
    assert house_rules.upward_imports(product, {room: BELOW[room]}) == []


def prose() -> list[Path]:
    """Documentation and SQL, whose words are the house's."""
    models = [
        path for folder in ("models", "macros", "queries") for path in (ROOT / "warehouse" / folder).rglob("*.sql")
    ]
    return [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *models]


def descriptions() -> list[Path]:
    """Files besides Python whose text people read: descriptions of models, and pages."""
    folders = ((ROOT / "warehouse", ("*.yml",)), (ROOT / "tasks" / "report", ("*.j2", "*.js")))
    return sorted(path for folder, kinds in folders for kind in kinds for path in folder.rglob(kind))


def breaches(rule: str, product: Tree, all_python: Tree) -> list[str]:
    match rule:
        case "small modules":
            return house_rules.small_modules(product, [pattern.removesuffix(".*") for pattern in REGISTRIES])
        case "broad excepts":
            return house_rules.broad_excepts(product, OUTER_EDGES)
        case "unregistered":
            return house_rules.unregistered_entries(product, REGISTRIES)
        case "unpaired models":
            return house_rules.unpaired_models(ROOT / "warehouse" / "models")
        case "banned words in messages":
            return house_rules.banned_words_in_messages(product, descriptions(), PROMISED_TEXTS)
        case "banned words":
            return house_rules.banned_words(all_python, prose(), PROMISED_NAMES, PROMISED_TEXTS)
        case "bare participles":
            return house_rules.bare_participles(product)
    return getattr(house_rules, rule.replace(" ", "_"))(product)


def test_a_kind_of_run_is_named_by_its_own_folder_and_the_registry_alone(product):
    places = {*(f"flows.{kind}.*" for kind in KINDS), "flows.runs.kinds", "flows.cli.commands"}
    assert house_rules.kind_names(product, KINDS, places) == []


def test_few_files_but_its_own_name_the_newest_kind_of_run():
    assert len(house_rules.files_naming(Tree(ROOT, (*PACKAGES, "src")), KINDS[-1])) <= 12


def size(measure: str, product: Tree) -> float:
    match measure:
        case "product lines":
            return house_rules.count_lines(product.files("*.py", "*.sql", "*.js", "*.j2"))
        case "modules":
            return len(product.modules_but_packages())
        case "test lines":
            return house_rules.count_lines((ROOT / "tests").rglob("*.py"))
    return house_rules.median_function(product)


@pytest.mark.parametrize("rule", BREACHES)
def test_no_rule_is_broken_more_often_than_it_was(rule, product, all_python):
    found = breaches(rule, product, all_python)
    assert len(found) <= BREACHES[rule], "\n".join(found[-40:])


@pytest.mark.parametrize("measure", SIZES)
def test_no_size_grows(measure, product):
    assert size(measure, product) <= SIZES[measure]


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Tree]:
    """A tree of small files: `plant({"room/one.py": "import os"})`. Rooms get their `__init__.py`."""

    def make(files: dict[str, str]) -> Tree:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            for room in path.relative_to(tmp_path).parents[:-1]:
                (tmp_path / room / "__init__.py").touch()
        return Tree(tmp_path, tuple({Path(name).parts[0] for name in files}), prefix="")

    return make


LONG = "def f():\n" + "    x = 1\n" * 60
SEVEN = "def f(a, b, c, d, e, *, f, g): ..."
SWALLOW = "def f():\n    try:\n        g()\n    except Exception:{comment}\n        pass\n"


@pytest.mark.parametrize(
    ("rule", "files", "breach"),
    [
        ("crowded_rooms", {f"a/m{i}.py": "" for i in range(16)}, "a: 16 modules"),
        ("sparse_rooms", {"a/b/one.py": "", "a/b/two.py": ""}, "a.b: 2 modules"),
        ("small_modules", {"a/one.py": "import a.two", "a/two.py": ""}, "a.two: 0 lines, for a.one alone"),
        (
            "circles",
            {"a/one.py": "import a.two", "a/two.py": "def f():\n    from a.one import x"},
            "a.one ↔ a.two",
        ),
        (
            "room_circles",
            {"a/b/m.py": "from a.c import m", "a/c/m.py": "from a.b.n import x", "a/b/n.py": ""},
            "a.b ↔ a.c",
        ),
        ("many_parameters", {"a/m.py": SEVEN}, "a.m.f: 7 parameters"),
        ("long_functions", {"a/m.py": LONG}, "a.m.f: 61 lines"),
        *(
            ("executed_data", {"a/m.py": text}, f"a.m:1: {breach}")
            for text, breach in {
                "import pickle": "pickle",
                "from cloudpickle import loads": "cloudpickle",
                'importlib.import_module("dill")': "dill",
                'f(result_serializer="json")': "result_serializer='json'",
                "@task(persist_result=True)\ndef f(): ...": "persist_result=True",
                "@task(cache_policy=INPUTS)\ndef f(): ...": "cache_policy=INPUTS",
                "yaml.load(text)": "yaml.load",
                "yaml.load(text, yaml.Loader)": "yaml.Loader",
                "yaml.unsafe_load(text)": "yaml.unsafe_load",
                "eval(text)": "eval",
                "exec(text)": "exec",
                "torch.load(file)": "torch.load",
                "numpy.load(file, allow_pickle=True)": "allow_pickle=True",
                "from_pretrained(folder, trust_remote_code=True)": "trust_remote_code=True",
                "subprocess.run(text, shell=True)": "shell=True",
            }.items()
        ),
        ("bare_participles", {"a/m.py": "def _told(): ..."}, "a.m._told"),
        ("bare_participles", {"a/m.py": "def planned(): ..."}, "a.m.planned"),
        ("whimsical_modules", {"a/told.py": ""}, "a.told"),
        ("whimsical_modules", {"a/courier.py": ""}, "a.courier"),
        ("banned_words", {"a/m.py": "def what_is_told(): ..."}, "a.m: told"),
        ("banned_words", {"a/m.py": "x = 1  # a row beside it"}, "a.m: beside"),
        ("banned_words", {"a/m.py": 'def f():\n    """Nobody answers."""'}, "a.m: Nobody"),
    ],
)
def test_a_breach_is_found(plant, rule, files, breach):
    assert getattr(house_rules, rule)(plant(files)) == [breach]


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        ("crowded_rooms", {f"a/m{i}.py": "" for i in range(15)}),
        (
            "sparse_rooms",
            {"a/b/one.py": "", "a/b/c/m.py": "", "a/b/two.py": "", "a/b/c/n.py": "", "a/b/c/o.py": ""},
        ),
        ("small_modules", {"a/one.py": "import a.two", "a/three.py": "import a.two", "a/two.py": ""}),
        ("small_modules", {"a/one.py": "import a.two", "a/two.py": "x = 1\n" * 80}),
        ("circles", {"a/one.py": "import a.two", "a/two.py": "import a.three", "a/three.py": ""}),
        ("room_circles", {"a/b/m.py": "from a.c import m", "a/c/m.py": ""}),
        ("many_parameters", {"a/m.py": "class C:\n    def f(self, a, b, c, d, e, f): ..."}),
        ("bare_participles", {"a/m.py": "def string(): ...\ndef is_planned(): ...\ndef load_cases(): ..."}),
        ("executed_data", {"a/m.py": "model.eval()\nyaml.load(text, yaml.CSafeLoader)\nf(persist_result=False)"}),
        ("bare_participles", {"a/m.py": "class C:\n    @property\n    def planned(self): ..."}),
        ("whimsical_modules", {"a/finding.py": "", "a/_speed.py": ""}),
        ("banned_words", {"a/m.py": 'x = "told"  # “told” and `said` are quoted'}),
    ],
)
def test_what_keeps_a_rule_is_left_alone(plant, rule, files):
    assert getattr(house_rules, rule)(plant(files)) == []


def test_a_promised_name_may_stand_as_a_field_alone(plant):
    tree = plant({"a/m.py": "class C:\n    told: str\n\ntold = C(told=1, said=2).told\n"})
    assert house_rules.banned_words(tree, promised=["told"]) == ["a.m: told", "a.m: said"]
    assert len(house_rules.banned_words(tree)) == 5


def test_a_promised_text_is_data_in_its_own_module_alone(plant):
    tree = plant({"a/m.py": 'x = "as told, nobody"\n', "a/n.py": 'x = "as told"\n'})
    promised = [("a.m", "told")]
    assert house_rules.banned_words_in_messages(tree, promised=promised) == ["a.m:1: nobody", "a.n:1: told"]


def test_an_import_upwards_is_found(plant):
    tree = plant({"high/m.py": "", "low/m.py": "from high import m", "low/n.py": "from low import m"})
    assert house_rules.upward_imports(tree, {"low": {"low"}}) == ["low.m imports high.m"]


def test_a_handler_of_everything_is_an_outer_edge_with_its_reason(plant):
    reason = {"a/m.py": SWALLOW.format(comment="  # the process ends here")}
    assert house_rules.broad_excepts(plant(reason), ["a.m.f"]) == []
    assert house_rules.broad_excepts(plant(reason), []) == ["a.m.f: line 4"]
    assert house_rules.broad_excepts(plant({"a/m.py": SWALLOW.format(comment="")}), ["a.m.f"]) == ["a.m.f: line 4"]


def test_a_module_that_its_registry_does_not_name_is_found(plant):
    shared = {"a/b/one.py": "from a.b.text import x", "a/b/text.py": "", "a/b/two.py": "", "a/new/kind.py": ""}
    tree = plant({"a/registry.py": 'NAMES = ["a.b.one"]', **shared})
    assert house_rules.unregistered_entries(tree, {"a.b.*": "a.registry", "a.*.kind": "a.registry"}) == [
        "a.b.two is not in a.registry",
        "a.new.kind is not in a.registry",
    ]


def test_each_file_that_names_a_kind_of_run_and_is_not_its_own_is_found(tmp_path):
    texts = {
        "flows/probe/kind.py": 'name = "probe"',
        "flows/show.py": "# of a probe",
        "flows/kinds.py": "from flows.probe import ProbeKind",
        "flows/probing.py": "problem = 1",
        "flows/mart.sql": "select * from lake.probe_cases",
        "flows/rules.yml": "kinds: [redteam]",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = house_rules.files_naming(Tree(tmp_path, ("flows",)), "probe")
    assert found == ["flows/kinds.py", "flows/mart.sql", "flows/show.py"]


def test_a_kind_of_run_that_is_named_elsewhere_is_found(plant):
    tree = plant(
        {
            "flows/show.py": 'if run.kind == KIND:\n    names = ("probe",)',
            "flows/probe/kind.py": 'name = "probe"',
            "tasks/show.py": 'WORDS = {"probe": ""}\nis_probe = run.kind == "probe"',
        }
    )
    assert house_rules.kind_names(tree, {"probe"}, {"flows.probe.*"}) == [
        "flows.show:2: probe",
        "tasks.show:2: probe",
    ]


def test_a_model_without_its_description_is_found(plant, tmp_path):
    plant({"m/x/one.sql": "", "m/x/one.yml": "", "m/x/one.tests.yml": "", "m/x/two.sql": "", "m/x/gone.yml": ""})
    assert house_rules.unpaired_models(tmp_path / "m") == ["x/gone", "x/two"]


def test_a_banned_word_in_a_message_or_a_description_is_found(plant, tmp_path):
    tree = plant(
        {"a/m.py": 'x = f"nobody answers `told`"\ny = "told"\n', "a/m.yml": "description: A row beside it.\n"}
    )
    assert house_rules.banned_words_in_messages(tree, [tmp_path / "a" / "m.yml"]) == [
        "a.m:1: nobody",
        "m.yml: beside",
    ]


def test_sizes_are_counted(plant):
    tree = plant({"a/m.py": "def f():\n    return 1\n", "a/n.py": "def g(): ...\n"})
    assert house_rules.count_lines(tree.files("*.py")) == 3
    assert house_rules.median_function(tree) == 1.5
    assert len(tree.modules_but_packages()) == 2
