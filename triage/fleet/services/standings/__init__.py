"""Node standings that are asked for again and again, and the priors of an analysis."""
