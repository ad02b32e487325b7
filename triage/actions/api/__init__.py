"""Routes of acts."""
