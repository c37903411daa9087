"""The curves of a run for TensorBoard: model/metrics.jsonl, with the library tensorboardX.

    pip install tensorboardX tensorboard
    python3 to_tensorboard.py model logs && tensorboard --logdir logs
"""
import json
import sys

from tensorboardX import SummaryWriter

folder, logs = sys.argv[1:]
with SummaryWriter(logs) as writer, open(folder + "/metrics.jsonl") as lines:
    for row in map(json.loads, lines):  # {"type": "valid", "step": 50, "nll": 2.0, ...}
        for name, value in row.items():
            if type(value) in (int, float) and name != "step":
                writer.add_scalar(f"{row['type']}/{name}", value, row["step"])
