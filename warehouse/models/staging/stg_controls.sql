select *
from lake.controls
semi join staging.stg_criteria using (run_id, evaluation_id)
-- a cell that is evaluated again after other cells were added reads some of its controls again
qualify row_number() over (
    partition by run_id, judge, language, control, is_swapped order by read_at desc, cell_id
) = 1
