-- How do the models compare concern by concern, each over its newest complete run?
-- Rates of instances, not of templates: a template with many communities fails sooner than one with two.
pivot (
    select
        concern,
        model,
        round(100 * rate, 1) as passed_percent
    from marts.leaderboard
)
on model using first(passed_percent)
order by concern;
