"""The table that nvidia-smi prints without options."""

from collections.abc import Sequence

LINE = "+-----------------------------------------+----------------------+----------------------+"


def smi_table(gpus: Sequence[tuple[int, int]], at: str = "Tue Nov 24 03:05:06 2026") -> str:
    """A row of two lines for each (utilisation in percent, power in W)."""
    rows = [
        at,
        LINE.replace("-+-", "---"),
        "| NVIDIA-SMI 550.90.07       Driver Version: 550.90.07    CUDA Version: 12.4            |",
        LINE,
        "| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |",
        "|=========================================+======================+======================|",
    ]
    for index, (load, power) in enumerate(gpus):
        rows += [
            f"| {index:3}  NVIDIA H100 80GB HBM3          On  |"
            f" 00000000:{index + 16:02X}:00.0 Off |                    0 |",
            f"| N/A   41C    P0             {power:3}W / 700W |  65000MiB / 81559MiB |    {load:3}%"
            "      Default |",
            LINE,
        ]
    return "\n".join(rows) + "\n"
