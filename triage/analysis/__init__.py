"""Facts to findings to suspects. Pure: no files, no network, no clock."""
