-- two-way clustered variance of a mean over documents and identities (Cameron, Gelbach and Miller 2011). Of the ratio of
-- two rates: the variance of its logarithm, linearised
with measured as (
    select run_id, comparison_id, 'decision' as measure, document_id, pair, difference as amount
    from intermediate.int_decision_pairs
    where difference is not null
    union all
    select run_id, comparison_id, 'refusal' as measure, document_id, pair, refusal_difference
    from intermediate.int_decision_pairs
    where refusal_difference is not null
    union all
    select
        run_id,
        comparison_id,
        'log ratio' as measure,
        document_id,
        pair,
        compared.points / rates.points - compared.reference_points / rates.reference_points as amount
    from intermediate.int_decision_pairs as compared
    inner join intermediate.int_audit_comparisons as rates using (run_id, comparison_id)
    where
        difference is not null
        and rates.decision <> 'score'
        and rates.points > 0
        and rates.reference_points > 0
),

means as (
    select
        run_id,
        comparison_id,
        measure,
        statistics.mean_of_shares(amount) as mean,
        count(*) as pairs,
        count(distinct document_id) as documents,
        count(distinct pair) as identities
    from measured
    group by all
),

residuals as (
    select measured.* exclude (amount), amount - mean as residual
    from measured
    inner join means using (run_id, comparison_id, measure)
),

by_document as (
    select
        run_id,
        comparison_id,
        measure,
        document_id,
        statistics.total(residual) as residual,
        statistics.total(residual * residual) as squares
    from residuals
    group by all
),

by_identity as (
    select run_id, comparison_id, measure, pair, statistics.total(residual) as residual
    from residuals
    group by all
),

of_documents as (
    select
        run_id,
        comparison_id,
        measure,
        statistics.total(residual * residual) as squares,
        statistics.total(squares) as cells
    from by_document
    group by all
),

of_identities as (
    select run_id, comparison_id, measure, statistics.total(residual * residual) as squares
    from by_identity
    group by all
),

variances as (
    select
        means.*,
        documents / nullif(documents - 1, 0) * of_documents.squares / pairs ** 2 as by_documents,
        identities / nullif(identities - 1, 0) * of_identities.squares / pairs ** 2 as by_identities,
        pairs / nullif(pairs - 1, 0) * of_documents.cells / pairs ** 2 as by_cells
    from means
    inner join of_documents using (run_id, comparison_id, measure)
    inner join of_identities using (run_id, comparison_id, measure)
)

select
    * exclude (by_documents, by_identities, by_cells),
    sqrt(by_documents) as se_by_document,
    sqrt(by_identities) as se_by_identity,
    case
        when by_documents is not null and by_identities is not null
            then sqrt(greatest(by_documents + by_identities - by_cells, by_documents, by_identities))
    end as standard_error,
    least(documents, identities) - 1 as degrees
from variances
