"""Files, folders and archives as streams of bytes."""
