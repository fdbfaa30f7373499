from support.hand_made_runs import (
    cell,
    criterion,
    earlier,
    expected,
    hand_made,
    hand_made_in,
    lake,
    numbers,
    reply_makers,
)
