"""How a training job moved: its end or stop, its pace, its loss, and whether that is health."""
