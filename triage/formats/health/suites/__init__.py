"""Whole-node suites: NHC, SuperBench, Meta's GCM, sichek, gpud's scan, conditions of nodes."""
