"""The meaning of replies: their plain form, clauses, phrases, and the stand that they take."""
