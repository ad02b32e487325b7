"""PyTorch flight-recorder dumps to digests, without ``pickle``."""
