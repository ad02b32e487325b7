"""Acting on nodes, where settings allow it: drain, undrain, exclude; each act on record."""
