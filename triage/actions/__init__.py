"""Acting on nodes, where settings allow it: drain, undrain, reboot, exclude; each act on record."""
