with verdicts as (
    select * from staging.stg_verdicts where level = 'template'
)

from verdicts
