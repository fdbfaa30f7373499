"""The rules of the house as functions over a tree of files: each returns its breaches, one line a breach."""

import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import yaml

ROOM_MOST, ROOM_LEAST, SMALL_LINES = 15, 3, 80
PARAMETERS_MOST, FUNCTION_MOST = 6, 60
BANNED = re.compile(
    r"\b(told|tells?|said|says|heard|hears|hands|lies|beside|whoever|nobody|somebody|put right|goes on with|ask it"
    r"|one thing to|of which)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"“[^”]*”|‘[^’]*’|«[^»]*»|\"[^\"]*\"|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
IRREGULAR = re.compile(
    r"begun|broken|brought|built|caught|chosen|drawn|found|given|gone|heard|held|hidden|kept|known|laid|left|lent|lost"
    r"|made|met|paid|said|seen|sent|shown|sold|spent|spoken|stood|taken|taught|thought|told|torn|understood|withheld"
    r"|won|written"
)
NOUNS_AND_VERBS = re.compile(
    r"bring|during|embed|exceed|feed|finding|heading|need|padding|proceed|rating|ring|seed|setting|shred|speed|spelling"
    r"|spread|nothing|missing|string|thing|understanding|wording"
)
WHIMSICAL = re.compile(
    r"absence|allowance|courier|decidable|desk|explanations|faults|flights|handover|hearing|likeness|look_closer|markups"
    r"|mistakes|pace|sift|shell|tongues|trouble|under_way|ways|wire"
)
"""Names that modules once had, and that did not state their content."""
FIELD_TERMS = re.compile(r"\w+ing|scheduled|simulated")
"""Gerunds are nouns; these participles are the field's."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A Python file of a tree."""

    name: str
    """With dots, from the root; a package's own name for its `__init__`."""
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def room(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[2]

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


@dataclass(frozen=True)
class Tree:
    """The files below `root` in some folders; `prefix` is the package that they are installed in."""

    root: Path
    folders: tuple[str, ...]
    prefix: str = "biasgrid."

    @cached_property
    def modules(self) -> dict[str, Module]:
        found = {}
        for path in self.files("*.py"):
            name = (
                path.relative_to(self.root).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            )
            found[name] = Module(name, path, path.read_text(encoding="utf-8"))
        return found

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules of this tree that each imports anywhere: inside functions and for type checkers too."""
        return {name: self._imports_of(module) for name, module in self.modules.items()}

    def files(self, *kinds: str) -> list[Path]:
        return sorted(
            path
            for folder in self.folders
            for kind in kinds
            for path in (self.root / folder).rglob(kind)
            if not path.is_symlink()
        )

    def modules_but_packages(self) -> list[Module]:
        """All modules but the packages' own."""
        return [module for module in self.modules.values() if not module.is_package]

    def _imports_of(self, module: Module) -> set[str]:
        found = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {self._owner(node.module, name.name) for name in node.names}
        return {name.removeprefix(self.prefix) for name in found} & self.modules.keys() - {module.name}

    def _owner(self, module: str, name: str) -> str:
        inner = f"{module}.{name}"
        return inner if inner.removeprefix(self.prefix) in self.modules else module


def crowded_rooms(tree: Tree) -> list[str]:
    counts = Counter(module.room for module in tree.modules_but_packages())
    return [f"{room}: {count} modules" for room, count in counts.items() if count > ROOM_MOST]


def sparse_rooms(tree: Tree) -> list[str]:
    """Rooms with too few modules and rooms, which belong to their parents."""
    rooms = [module.name for module in tree.modules.values() if module.is_package and "." in module.name]
    entries = Counter(name.rpartition(".")[0] for name in tree.modules)
    return [f"{room}: {entries[room]} modules" for room in rooms if entries[room] < ROOM_LEAST]


def small_modules(tree: Tree, registered: Collection[str] = ()) -> list[str]:
    """Modules under 80 lines that one neighbour alone imports; `registered`: rooms whose entries may be small."""
    users: dict[str, set[str]] = {name: set() for name in tree.modules}
    for user, imported in tree.imports.items():
        for name in imported:
            users[name].add(user)
    return [
        f"{module.name}: {lines} lines, for {user} alone"
        for module in tree.modules_but_packages()
        if (lines := module.text.count("\n")) < SMALL_LINES and module.room not in registered
        for user in users[module.name]
        if len(users[module.name]) == 1 and tree.modules[user].room == module.room
    ]


def circles(tree: Tree) -> list[str]:
    """Modules that import each other in a circle, a line for each circle."""
    return _circles(tree.imports)


def room_circles(tree: Tree) -> list[str]:
    """Rooms of one parent that import each other in a circle."""
    arrows: dict[str, dict[str, set[str]]] = {}
    for user, imported in tree.imports.items():
        for name in imported:
            parent, ours, theirs = _fork(user.split("."), name.split("."))
            rooms = {f"{parent}.{part}".strip(".") for part in (ours, theirs)}
            if len(rooms) == 2 and all(tree.modules[room].is_package for room in rooms & tree.modules.keys()):
                arrows.setdefault(parent, {}).setdefault(f"{parent}.{ours}".strip("."), set()).add(
                    f"{parent}.{theirs}".strip(".")
                )
    return [circle for inside in arrows.values() for circle in _circles(inside)]


def _fork(ours: list[str], theirs: list[str]) -> tuple[str, str, str]:
    """The last room that two modules share, and the names at which their ways part."""
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    return ".".join(ours[:same]), next(iter(ours[same:]), ""), next(iter(theirs[same:]), "")


def _circles(arrows: dict[str, set[str]]) -> list[str]:
    reach = {name: _reachable(name, arrows) for name in arrows}
    groups = {
        frozenset(other for other in reach[name] if name in reach.get(other, ())) | {name}
        for name in arrows
        if name in reach[name]
    }
    return sorted(" ↔ ".join(sorted(group)) for group in groups)


def _reachable(start: str, arrows: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(arrows.get(name, ()))
    return found


def upward_imports(tree: Tree, below: dict[str, set[str]]) -> list[str]:
    """Imports from a room that is not below; `below`: the rooms that each may import."""
    return [
        f"{user} imports {name}"
        for user, imported in tree.imports.items()
        for room, allowed in below.items()
        if _inside(user, {room})
        for name in imported
        if not _inside(name, allowed)
    ]


def _inside(name: str, rooms: Iterable[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def many_parameters(tree: Tree) -> list[str]:
    return [
        f"{module.name}.{function.name}: {count} parameters"
        for module in tree.modules.values()
        for function in module.functions()
        if (count := _parameters(function)) > PARAMETERS_MOST
    ]


def _parameters(function: Function) -> int:
    given = function.args
    return sum(one.arg not in ("self", "cls") for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def long_functions(tree: Tree) -> list[str]:
    return [
        f"{module.name}.{function.name}: {lines} lines"
        for module in tree.modules.values()
        for function in module.functions()
        if (lines := _lines(function)) > FUNCTION_MOST
    ]


def median_function(tree: Tree) -> float:
    return statistics.median(
        _lines(function) for module in tree.modules.values() for function in module.functions()
    )


def _lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def bare_participles(tree: Tree) -> list[str]:
    """Functions named by a participle alone. Properties and fixtures are nouns."""
    return [
        f"{module.name}.{function.name}"
        for module in tree.modules.values()
        for function in module.functions()
        if not function.decorator_list and _is_participle(function.name.strip("_"))
    ]


def _is_participle(word: str) -> bool:
    regular = word.isalpha() and word.endswith(("ed", "ing")) and not NOUNS_AND_VERBS.fullmatch(word)
    return regular or IRREGULAR.fullmatch(word) is not None


def broad_excepts(tree: Tree, edges: Collection[str]) -> list[str]:
    """Handlers of every exception that do not raise: only in `edges` (module.function), each with its reason."""
    return [
        f"{place}: line {handler.lineno}"
        for module in tree.modules.values()
        for place, handler in _broad_handlers(module)
        if place not in edges or "#" not in module.text.splitlines()[handler.lineno - 1]
    ]


def _broad_handlers(module: Module) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for function in module.functions():
        for node in ast.walk(function):
            if not isinstance(node, ast.ExceptHandler) or any(
                isinstance(one, ast.Raise) for one in ast.walk(node)
            ):
                continue
            caught = (
                {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else set()
            )
            if node.type is None or caught & {"Exception", "BaseException"}:
                yield f"{module.name}.{function.name}", node


PICKLES = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "jsonpickle", "pickletools"}
EXECUTED = re.compile(
    r"(builtins\.)?(eval|exec|compile|__import__)|os\.(system|popen)|torch\.load|\w+\.(read_pickle|unsafe_load|full_load)"
    r"|pty\.spawn|runpy\.run_path"
)
UNSAFE_LOADERS = re.compile(r"yaml\.(C?(Unsafe|Full)?Loader)\b")
UNSAFE_OPTIONS = {"allow_pickle", "trust_remote_code", "persist_result", "shell", "result_serializer"}


def executed_data(tree: Tree) -> list[str]:
    """Imports, calls and options by which what a file holds is executed, and results that Prefect would pickle."""
    return [
        f"{module.name}:{node.lineno}: {breach}"
        for module in tree.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.expr | ast.stmt)
        for breach in _executions(node)
    ]


def _executions(node: ast.expr | ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        named = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
        yield from (name for name in named if name.partition(".")[0] in PICKLES)
    elif isinstance(node, ast.Attribute) and UNSAFE_LOADERS.fullmatch(ast.unparse(node)):
        yield ast.unparse(node)
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if EXECUTED.fullmatch(name) or (name == "yaml.load" and len(node.args) + len(node.keywords) < 2):
            yield name
        yield from (option for option in map(_unsafe_option, node.keywords) if option)
    elif isinstance(node, ast.Constant) and node.value in PICKLES:
        yield str(node.value)  # a serializer's name


def _unsafe_option(given: ast.keyword) -> str | None:
    """`name=value` of an option by which a library executes or pickles; `weights_only` only if it is off."""
    value = ast.unparse(given.value)
    is_unsafe = (
        (given.arg in UNSAFE_OPTIONS and value != "False")
        or (given.arg == "weights_only" and value != "True")
        or (given.arg == "cache_policy" and value != "NO_CACHE")
    )
    return f"{given.arg}={value}" if is_unsafe else None


def unregistered_entries(tree: Tree, registries: dict[str, str]) -> list[str]:
    """Entries that their registry does not name. `registries`: a pattern whose `*` is the entry → its registry.

    A module that another entry of its room imports is no entry itself.
    """
    return [
        f"{name} is not in {registry}"
        for pattern, registry in registries.items()
        for name, entry in _entries(tree, pattern, registry)
        if not re.search(rf"\b{entry}\b", tree.modules[registry].text)
    ]


def _entries(tree: Tree, pattern: str, registry: str) -> Iterator[tuple[str, str]]:
    before, _, after = pattern.partition("*")
    for module in tree.modules_but_packages():
        found = re.fullmatch(rf"{re.escape(before)}(\w+){re.escape(after)}", module.name)
        users = {user for user, imported in tree.imports.items() if module.name in imported}
        is_shared = any(tree.modules[user].room == module.room for user in users)
        if found and module.name != registry and not is_shared:
            yield module.name, found[1]


def kind_names(tree: Tree, kinds: Collection[str], places: Collection[str]) -> list[str]:
    """Names of run kinds as literals of `flows` outside `places` (patterns), and comparisons with one anywhere."""
    return [
        f"{module.name}:{literal.lineno}: {literal.value}"
        for module in tree.modules.values()
        for literal in _literals(module, everywhere=_inside(module.name, {"flows"}))
        if literal.value in kinds and not any(fnmatch(module.name, place) for place in places)
    ]


def files_naming(tree: Tree, kind: str) -> list[str]:
    """Files other than its own that name a run kind, be it in a comment: what adding one takes. Its own have its
    name in their path."""
    name = re.compile(rf"(?<![a-zA-Z]){kind}s?(?![a-z])|{kind.title()}|{kind.upper()}")
    files = (path for path in tree.files("*.py", "*.sql", "*.yml") if "__pycache__" not in path.parts)
    found = {path.relative_to(tree.root).as_posix(): path for path in files}
    return [at for at, path in found.items() if kind not in at and name.search(path.read_text(encoding="utf-8"))]


def _literals(module: Module, *, everywhere: bool) -> Iterator[ast.Constant]:
    """String literals of a module: all of them, or those of its comparisons."""
    roots = [module.tree] if everywhere else [one for one in ast.walk(module.tree) if isinstance(one, ast.Compare)]
    for root in roots:
        for node in ast.walk(root):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node


def unpaired_models(root: Path) -> list[str]:
    """SQL models without their description next to them, and descriptions of no model."""
    described = {path.with_suffix("") for path in root.rglob("*.yml") if not path.name.endswith(".tests.yml")}
    models = {path.with_suffix("") for path in root.rglob("*.sql")}
    in_folders = {path for path in described if path.parent != root}
    return [str(path.relative_to(root)) for path in sorted(models ^ in_folders | (models - described))]


def whimsical_modules(tree: Tree) -> list[str]:
    """Modules named by a participle, or by a word outside the field."""
    return [
        module.name
        for module in tree.modules.values()
        if WHIMSICAL.fullmatch(module.stem)
        or (_is_participle(module.stem.strip("_")) and not FIELD_TERMS.fullmatch(module.stem))
    ]


def banned_words(
    tree: Tree,
    other: Iterable[Path] = (),
    promised: Collection[str] = (),
    promised_texts: Collection[tuple[str, str]] = (),
) -> list[str]:
    """Banned words in names, comments and docstrings, and in the text of `other` files, quotations left out.

    `promised`: names that files of users or other libraries fix; they stand as attributes, fields and keywords.
    `promised_texts`: files, each with a word that is data there.
    """
    found = [
        f"{module.name}: {word}"
        for module in tree.modules.values()
        for word in _banned_in_python(module.text, promised)
    ]
    return found + _banned_in_files(other, promised_texts)


def banned_words_in_messages(
    tree: Tree, other: Iterable[Path] = (), promised: Collection[tuple[str, str]] = ()
) -> list[str]:
    """Banned words in strings of several words, and in the comments and descriptions of `other` files.

    `promised`: modules and files, each with a word that is data there.
    """
    found = [
        f"{module.name}:{token.start[0]}: {word}"
        for module in tree.modules.values()
        for token, is_docstring in _strings(module.text)
        if not is_docstring and " " in token.string.strip()
        for word in BANNED.findall(_without_quotes(_content(token.string)))
        if (module.name, word) not in promised
    ]
    return found + _banned_in_files(other, promised)


def _banned_in_files(paths: Iterable[Path], promised: Collection[tuple[str, str]]) -> list[str]:
    return [
        f"{path.name}: {word}"
        for path in paths
        for word in _banned_in_prose(path)
        if (path.name, word) not in promised
    ]


def _banned_in_python(text: str, promised: Collection[str]) -> list[str]:
    words = []
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type == tokenize.COMMENT:
            words += BANNED.findall(_without_quotes(token.string))
        elif token.type == tokenize.NAME and not (
            token.string in promised and _is_field(before.string.strip(), after.string)
        ):
            words += BANNED.findall(token.string.replace("_", " "))
    for token, is_docstring in _strings(text):
        words += BANNED.findall(_without_quotes(token.string.strip('"'))) if is_docstring else []
    return words


def _is_field(before: str, after: str) -> bool:
    """Whether a name between two tokens is an attribute, a keyword of a call or a field at a line's start."""
    return before == "." or (before in ("(", ",") and after == "=") or (not before and after == ":")


def _strings(text: str) -> Iterator[tuple[tokenize.TokenInfo, bool]]:
    """Strings of a module, each with whether it is a statement of its own: a docstring."""
    starts = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    start_of_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            yield token, start_of_statement
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            start_of_statement = token.type in starts


def _content(literal: str) -> str:
    """A string literal without its prefix and quotation marks."""
    return literal.lstrip("rRbBfFuU").strip("\"'")


def _banned_in_prose(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        text = "\n".join(re.findall(r"--.*", text))
    elif path.suffix == ".yml":
        text = "\n".join([*re.findall(r"#.*", text), *_descriptions(yaml.safe_load(text))])
    return BANNED.findall(_without_quotes(FENCED.sub("", text)))


def _descriptions(node: object) -> Iterator[str]:
    """Values of each `description` in a YAML document."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from [str(value)] if key == "description" else _descriptions(value)
    elif isinstance(node, list):
        for one in node:
            yield from _descriptions(one)


def _without_quotes(text: str) -> str:
    return QUOTED.sub("", text)


def count_lines(paths: Iterable[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
