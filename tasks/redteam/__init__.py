"""Attacks a target with an attacker model until a judge finds a reply biased or the attack ends."""
