"""Evidence bundles: one file that an auditor can keep, look through and check without biasgrid's lake."""
