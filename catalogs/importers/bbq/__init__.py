"""Imports BBQ and its relatives: EsBBQ, CaBBQ, MBBQ and KoBBQ."""
