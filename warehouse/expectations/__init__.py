"""What lake and marts must hold, as Great Expectations suites: asked before a new warehouse replaces the old.

SQL narrows each table to the values that occur, least and greatest, and rows that break a rule. Great Expectations
judges that, in a process of its own, since its import takes seconds.
"""
