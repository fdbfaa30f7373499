from support.formula_runs import landed
