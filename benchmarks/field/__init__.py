"""Field: invented incidents told in the words of nine kinds of cluster, with their truth."""
