"""Small changes of Python and SQL: some test should notice each."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token, TokenType

COMPARISONS: dict[type[ast.cmpop], tuple[str, ast.cmpop]] = {
    ast.Eq: ("comparison", ast.NotEq()),
    ast.NotEq: ("comparison", ast.Eq()),
    ast.In: ("comparison", ast.NotIn()),
    ast.NotIn: ("comparison", ast.In()),
    ast.Is: ("comparison", ast.IsNot()),
    ast.IsNot: ("comparison", ast.Is()),
    ast.Lt: ("boundary", ast.LtE()),
    ast.LtE: ("boundary", ast.Lt()),
    ast.Gt: ("boundary", ast.GtE()),
    ast.GtE: ("boundary", ast.Gt()),
}
OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
}
TOKENS = {
    TokenType.EQ: ("comparison", "<>"),
    TokenType.NEQ: ("comparison", "="),
    TokenType.LT: ("boundary", "<="),
    TokenType.LTE: ("boundary", "<"),
    TokenType.GT: ("boundary", ">="),
    TokenType.GTE: ("boundary", ">"),
    TokenType.AND: ("boolean", "or"),
    TokenType.OR: ("boolean", "and"),
    TokenType.LEFT: ("join kind", "inner"),
    TokenType.INNER: ("join kind", "left"),
    TokenType.PLUS: ("arithmetic", "-"),
    TokenType.DASH: ("arithmetic", "+"),
    TokenType.STAR: ("arithmetic", "/"),
    TokenType.SLASH: ("arithmetic", "*"),
}
AGGREGATES = {"sum": "avg", "avg": "sum", "min": "max", "max": "min", "bool_and": "bool_or", "bool_or": "bool_and"}


@dataclass(frozen=True)
class Mutation:
    """Replaces the characters from `start` to `end` of a text."""

    kind: str
    line: int
    start: int
    end: int
    replacement: str

    @property
    def name(self) -> str:
        return f"line {self.line}, {self.kind}"

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


def python_mutations(text: str) -> list[Mutation]:
    """Comparison, boundary, boolean, arithmetic, constant, return and removed call; none of decorators: whether a
    class has slots changes no number."""
    starts = _line_starts(text)
    tree = ast.parse(text)
    decorators = {id(part) for node in ast.walk(tree) for own in _decorators(node) for part in ast.walk(own)}

    def place(line: int, column: int) -> int:
        in_line = text[starts[line - 1] :].partition("\n")[0].encode()[:column]
        return starts[line - 1] + len(in_line.decode())

    return [
        Mutation(
            kind,
            node.lineno,
            place(node.lineno, node.col_offset),
            place(node.end_lineno or node.lineno, node.end_col_offset or 0),
            f"({ast.unparse(changed)})" if isinstance(changed, ast.expr) else ast.unparse(changed),
        )
        for node in ast.walk(tree)
        for kind, changed in _python_changes(node)
        if isinstance(node, ast.expr | ast.stmt) and id(node) not in decorators
    ]


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _python_changes(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    match node:
        case ast.Compare():
            for number, operator in enumerate(node.ops):
                kind, other = COMPARISONS[type(operator)]
                changed = copy.deepcopy(node)
                changed.ops[number] = other
                yield kind, changed
        case ast.BoolOp():
            yield "boolean", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.BinOp() if type(node.op) in OPERATORS and not _is_text(node):
            yield "arithmetic", ast.BinOp(node.left, OPERATORS[type(node.op)], node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean", node.operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield "removed call", ast.Pass()


def _is_text(node: ast.BinOp) -> bool:
    """Strings that are joined cannot be subtracted: every test would fail."""
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def sql_mutations(text: str) -> list[Mutation]:
    """Comparison, boundary, boolean, join kind, arithmetic, constant, coalesce and aggregate."""
    tokens = DuckDB().tokenize(text)
    return [
        Mutation(kind, token.line, token.start, end + 1, replacement)
        for number, token in enumerate(tokens)
        for kind, end, replacement in _sql_changes(text, tokens, number)
    ]


def _sql_changes(text: str, tokens: list[Token], number: int) -> Iterator[tuple[str, int, str]]:
    token = tokens[number]
    word, is_call = token.text.lower(), _is(tokens, number + 1, TokenType.L_PAREN)
    if token.token_type == TokenType.NUMBER:
        yield "constant", token.end, f"({token.text} + 1)"
    elif token.token_type == TokenType.STAR and not _ends_value(tokens, number - 1):
        return  # `select *`, `count(*)`
    elif token.token_type in TOKENS and not is_call:
        kind, replacement = TOKENS[token.token_type]
        yield kind, token.end, replacement
    elif is_call and word in AGGREGATES:
        yield "aggregate", token.end, AGGREGATES[word]
    elif is_call and word == "count" and _is(tokens, number + 2, TokenType.DISTINCT):
        yield "aggregate", tokens[number + 3].start - 1, text[token.start : tokens[number + 1].end + 1]
    elif is_call and word == "coalesce":
        first_end, last = _arguments(tokens, number + 1)
        yield "coalesce", tokens[last].end, text[tokens[number + 2].start : tokens[first_end].end + 1]


def _ends_value(tokens: list[Token], number: int) -> bool:
    kinds = (TokenType.VAR, TokenType.NUMBER, TokenType.R_PAREN, TokenType.R_BRACKET)
    return any(_is(tokens, number, kind) for kind in kinds)


def _is(tokens: list[Token], number: int, kind: TokenType) -> bool:
    return number < len(tokens) and tokens[number].token_type == kind


def _arguments(tokens: list[Token], opening: int) -> tuple[int, int]:
    """The last token of a call's first argument, and its closing bracket."""
    depth, first_end = 0, 0
    for number in range(opening, len(tokens)):
        kind = tokens[number].token_type
        depth += (kind in (TokenType.L_PAREN, TokenType.L_BRACKET)) - (
            kind in (TokenType.R_PAREN, TokenType.R_BRACKET)
        )
        if kind == TokenType.COMMA and depth == 1 and not first_end:
            first_end = number - 1
        if depth == 0:
            return first_end or number - 1, number
    raise ValueError("a bracket is not closed")
