"""Audits: the same documents, sent with matched identities, and the decisions that came back."""
