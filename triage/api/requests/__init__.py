"""What comes in: values, paths, bodies, read strictly."""
