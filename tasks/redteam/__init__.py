"""An attacker converses with a target until a judge finds its reply biased, or the attack is over."""
