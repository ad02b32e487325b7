"""Charts of a fleet as inline SVG, each with its table."""
