"""A process that gives up what a reader of foreign bytes never needs, as far as the kernel can."""
