"""What torchrun starts on every rank: `torchrun ... -m helpers.ranks.exported_main FOLDER` runs an exported function.

Rank 0 writes the results of all ranks into the folder; a rank that raises writes its traceback there.
"""

from __future__ import annotations

import datetime
import os
import pickle
import sys
import threading
import time
import traceback
from pathlib import Path

import cloudpickle
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

from helpers.ranks.exported import PAYLOAD, RESULTS
from helpers.ranks.exported_errors import ERRORS
from helpers.ranks.payload import put_into_main

# Lines of these tell a learner nothing about where the own function went wrong.
_NOT_SHOWN = (__file__, os.path.dirname(torch.__file__))


def backend() -> str:
    """nccl where each rank of this machine has a GPU of its own, else gloo."""
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if torch.cuda.is_available() and dist.is_nccl_available() and torch.cuda.device_count() >= local:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return "nccl"
    return "gloo"


def run_exported(folder: Path) -> None:
    """Runs the exported function in a process group that torchrun's variables describe."""
    exported = pickle.loads((folder / PAYLOAD).read_bytes())
    function, args, kwargs = pickle.loads(exported["call"])
    put_into_main(function, *args, *kwargs.values())
    seconds = exported["group_timeout"]
    timeout = None if seconds is None else datetime.timedelta(seconds=seconds)
    dist.init_process_group(backend(), timeout=timeout)
    result = function(*args, **kwargs)
    results = _of_all_ranks(cloudpickle.dumps(result))
    if results is not None:
        _write(folder / RESULTS, pickle.dumps(results))
    dist.barrier()  # no rank leaves while another still talks to it
    dist.destroy_process_group()


def _of_all_ranks(result: bytes) -> list[bytes | None] | None:
    """On rank 0 what every rank returned, as bytes: classes of a notebook are unknown to plain pickle."""
    results = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(result, results)
    return results


def _write(path: Path, data: bytes) -> None:
    """The whole file or none, whenever somebody looks."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    os.replace(beside, path)


def _note_error(folder: Path, error: BaseException) -> None:
    (folder / ERRORS).mkdir(exist_ok=True)
    rank = os.environ["RANK"]
    own = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in own.stack if not frame.filename.startswith(_NOT_SHOWN)]
    own.stack = traceback.StackSummary.from_list(frames)
    description = own.format() if frames else own.format_exception_only()
    text = f"rank {rank} raised {type(error).__name__}: {error}\n{''.join(description)}"
    attempts = len(list((folder / ERRORS).glob(f"rank{rank}-*")))
    _write(folder / ERRORS / f"rank{rank}-{attempts}.txt", text.encode())


def _end_with_agent() -> None:
    """torchrun's agent was killed: nobody will end this rank, which may sit in a collective for ever."""
    agent = os.getppid()
    while os.getppid() == agent:
        time.sleep(0.5)
    os._exit(17)


@record
def main(folder: Path) -> None:
    threading.Thread(target=_end_with_agent, daemon=True).start()
    try:
        run_exported(folder)
    except BaseException as error:
        _note_error(folder, error)
        raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))
