select
    run_id,
    concern,
    axis,
    model,
    language,
    signal,
    identity_group,
    reference,
    document_id,
    document,
    pair,
    identity,
    reference_identity,
    points,
    reference_points,
    difference,
    case_id,
    reference_case_id,
    response_id,
    reference_response_id
from intermediate.int_decision_pairs
where difference <> 0
