select
    tests.*,
    templates.* exclude (run_id, cell_id, template_id, template_key, operation, is_literal),
    over_samples.samples,
    over_samples.mean_spread,
    over_samples.chance_spread,
    over_samples.mean_spread > over_samples.chance_spread as exceeds_chance,
    over_samples.outcome as template_outcome
from intermediate.int_same_value_tests as tests
inner join intermediate.int_templates as templates using (run_id, cell_id, template_id)
inner join intermediate.int_same_value_templates as over_samples using (run_id, cell_id, template_id)
