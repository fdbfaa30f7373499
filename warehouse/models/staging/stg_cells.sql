select *
from lake.cells
qualify row_number() over (partition by run_id, cell_id order by event_id desc) = 1
