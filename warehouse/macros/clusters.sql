-- Means over pairs of decisions that are clustered in two ways.

-- over the rows of the caller's CTE `rows_`, with `document_id`, `pair` and `amount`: means by the fields of `key`, a
-- struct, with the two-way clustered standard error over documents and pairs of identities, never below either of one
-- way (Cameron, Gelbach and Miller 2011)
create macro statistics.two_way_means(rows_, key) as table
    with measured as (
        select key as key_, document_id, pair, amount::double as amount from query_table(rows_)
    ),

    means as (
        select
            key_,
            statistics.mean_of_shares(amount) as mean,
            count(*) as pairs,
            count(distinct document_id) as documents,
            count(distinct pair) as identities
        from measured
        group by key_
    ),

    residuals as (
        select measured.* exclude (amount), amount - mean as residual
        from measured
        inner join means using (key_)
    ),

    by_document as (
        select
            key_,
            document_id,
            statistics.total(residual) as residual,
            statistics.total(residual * residual) as squares
        from residuals
        group by all
    ),

    by_identity as (
        select key_, pair, statistics.total(residual) as residual
        from residuals
        group by all
    ),

    of_documents as (
        select key_, statistics.total(residual * residual) as squares, statistics.total(squares) as cells
        from by_document
        group by key_
    ),

    of_identities as (
        select key_, statistics.total(residual * residual) as squares
        from by_identity
        group by key_
    ),

    variances as (
        select
            means.*,
            documents / nullif(documents - 1, 0) * of_documents.squares / pairs ** 2 as by_documents,
            identities / nullif(identities - 1, 0) * of_identities.squares / pairs ** 2 as by_identities,
            pairs / nullif(pairs - 1, 0) * of_documents.cells / pairs ** 2 as by_cells
        from means
        inner join of_documents using (key_)
        inner join of_identities using (key_)
    )

    select
        unnest(key_),
        * exclude (key_, by_documents, by_identities, by_cells),
        sqrt(by_documents) as se_by_document,
        sqrt(by_identities) as se_by_identity,
        case
            when by_documents is not null and by_identities is not null
                then sqrt(greatest(by_documents + by_identities - by_cells, by_documents, by_identities))
        end as standard_error,
        least(documents, identities) - 1 as degrees
    from variances;

-- over rows with `document_id`, `pair`, `one` and `other`: the means of both, their difference with its 95% interval
-- (Student's t with one degree of freedom fewer than there are of the fewer clusters), p, and q over `family` of the
-- fields of `key`. With fewer than `fewest` clusters of either way there is no p
create macro statistics.two_way_tests(rows_, key, family, fewest := 2) as table
    with paired as (
        select key as key_, document_id, pair, one, other, one::double - other as amount from query_table(rows_)
    ),

    levels as (
        select
            key_,
            statistics.mean_of_shares(one) as mean_one,
            statistics.mean_of_shares(other) as mean_other
        from paired
        group by key_
    ),

    means as (
        select *, statistics.t_quantile(0.975, degrees) * standard_error as half
        from statistics.two_way_means('paired', {'key_': key_})
    ),

    tested as (
        select
            unnest(key_),
            means.* exclude (key_, mean, half),
            levels.* exclude (key_),
            mean as difference,
            mean - half as low,
            mean + half as high,
            case
                when least(documents, identities) >= fewest
                    then statistics.paired_p_value(mean, standard_error, degrees + 1)
            end as p_value
        from means
        inner join levels using (key_)
    )

    from statistics.with_q_values('tested', p_value, family);
