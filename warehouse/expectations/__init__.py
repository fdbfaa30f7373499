"""Great Expectations suites for the lake and the marts, checked before a new warehouse replaces the old one.

SQL narrows each table to distinct values, minimum and maximum, and rows that break a rule. Great Expectations
validates these in a process of its own, since its import takes seconds.
"""
