from support.hand_made_runs import cell, criterion, expected, hand_made, lake
