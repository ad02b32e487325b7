"""Standings: which nodes interrupt jobs more than chance explains."""
