"""Lab 06: what each of torch's precision switches does to results, not only to the other switches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from helpers.measurements.device import Device
from helpers.measurements.processes import answer_of
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.switched import SETTINGS


@measurement(
    "precision_switches", lab="06", unit="as ieee, as tf32, or other bits", seconds=300, processes=True
)
def precision_switches(gpu: Device) -> Samples:
    """Each setting of torch's precision switches in a fresh process, which then computes a matrix product, a convolution
    and an LSTM in float32 on fixed inputs. A sample says whether the bits are those of the setting where everything is
    "ieee", of the one where everything is "tf32", of both, or others; or which error came.

    Predicted: by default the product is ieee, convolution and LSTM tf32. `torch.backends.cudnn.fp32_precision` moves the
    matrix product, too. Nothing else surprises.
    """
    wanted = gpu.pick(list(SETTINGS), ["all ieee", "all tf32"])
    with ThreadPoolExecutor(gpu.pick(4, 2)) as pool:
        asked = [pool.submit(answer_of, "switched", setting, gpu.device.type) for setting in wanted]
        bits = {setting: answer.result() for setting, answer in zip(wanted, asked, strict=True)}
    ieee, tf32 = bits["all ieee"], bits["all tf32"]
    return {
        setting: {operation: named(got, ieee[operation], tf32[operation]) for operation, got in of.items()}
        for setting, of in bits.items()
    }


def named(got: str, ieee: str, tf32: str) -> str:
    """Which of the two the bits equal."""
    if got.startswith("error: "):
        return got
    if ieee == tf32:
        return "no difference between ieee and tf32" if got == ieee else "other bits"
    return {ieee: "ieee", tf32: "tf32"}.get(got, "other bits")
