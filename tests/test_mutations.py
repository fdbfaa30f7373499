"""The changes that `make mutants` tries: each is one change, and what it gives is still Python or SQL."""

import ast

import pytest

from mutants.mutations import python_mutations, sql_mutations


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a == b", ["x = (a != b)"]),
        ("x = a < b <= c", ["x = (a <= b <= c)", "x = (a < b < c)"]),
        ("x = 'é' in b and c", ["x = ('é' in b or c)", "x = ('é' not in b) and c"]),
        ("x = not a", ["x = (a)"]),
        ("x = a + b", ["x = (a - b)"]),
        ("x = f'{a}' + b", []),
        ("x = f(True, 2)", ["x = f((False), 2)", "x = f(True, (3))"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("a.clear()", ["pass"]),
    ],
)
def test_python_is_changed_in_one_place(before, after):
    changed = [mutation.apply(before) for mutation in python_mutations(before)]
    assert sorted(changed) == sorted(after)
    assert all(ast.parse(text) for text in changed)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("select a where b >= c", ["select a where b > c"]),
        ("select a where b = c or d", ["select a where b <> c or d", "select a where b = c and d"]),
        ("from a left join b using (c)", ["from a inner join b using (c)"]),
        ("select left(a, 1)", ["select left(a, (1 + 1))"]),
        ("select a - b * c, count(*)", ["select a + b * c, count(*)", "select a - b / c, count(*)"]),
        ("select coalesce(f(a), b)", ["select f(a)"]),
        ("select sum(a), min(b)", ["select avg(a), min(b)", "select sum(a), max(b)"]),
        ("select count(distinct a)", ["select count(a)"]),
        ("-- a = b\nselect c", []),
    ],
)
def test_sql_is_changed_in_one_place(before, after):
    assert sorted(mutation.apply(before) for mutation in sql_mutations(before)) == sorted(after)
