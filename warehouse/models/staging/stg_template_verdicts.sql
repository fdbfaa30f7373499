select * from staging.stg_verdicts where level = 'template'
