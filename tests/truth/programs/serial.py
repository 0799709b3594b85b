"""One cause of a Python program, or the same work without it: serial.py FOLDER WHAT ARGUMENT...

FOLDER/data0 has 64 MiB. The computation is a sleep.
"""

from __future__ import annotations

import csv
import json
import os
import random
import sqlite3
import sys
import time
from pathlib import Path

FOLDER = Path(sys.argv[1])
WHAT = sys.argv[2]
HOW = sys.argv[3] if len(sys.argv) > 3 else ""
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 0
DATA = FOLDER / "data0"


def records() -> None:
    """100 bytes each: unbuffered, or with Python's buffer."""
    with (FOLDER / "out").open("wb", buffering=0 if HOW == "unbuffered" else 4 << 20) as out:
        for _ in range(COUNT):
            out.write(b"x" * 100)


def log() -> None:
    """Lines with flush=True (kept: as well), the file opened for each, or neither."""
    path = FOLDER / "log"
    if HOW == "reopened":
        for i in range(COUNT):
            with path.open("a") as out:
                print("step", i, file=out)
        return
    with path.open("a") as out:
        for i in range(COUNT):
            print("step", i, file=out, flush=HOW in ("flushed", "kept"))


def read() -> None:
    """Samples of 4 KiB in random order, from the file or from parts of 4 MiB; records of 64 bytes, buffered or not."""
    if HOW == "samples":
        with DATA.open("rb", buffering=0) as file:
            for i in random.Random(1).sample(range(16384), 16384):
                file.seek(4096 * i)
                file.read(4096)
    elif HOW == "shuffled":
        with DATA.open("rb", buffering=0) as file:
            while block := file.read(4 << 20):
                for i in random.Random(1).sample(range(1024), 1024):
                    _ = block[4096 * i : 4096 * i + 4096]
    else:
        with DATA.open("rb", buffering=0 if HOW == "unbuffered" else 4 << 20) as file:
            for _ in range(COUNT):
                file.read(64)


def trained() -> None:
    """An application of many modules that reads samples."""
    sys.path.insert(0, str(FOLDER / "application"))
    for i in range(COUNT):
        __import__(f"part{i}")
    read()


def arrays() -> None:
    """np.save of each array, or one of all."""
    import numpy as np

    one = np.zeros(100)
    if HOW == "each":
        for i in range(COUNT):
            np.save(FOLDER / f"array{i}.npy", one)
    else:
        np.save(FOLDER / "arrays.npy", np.tile(one, (COUNT, 1)))


def results() -> None:
    """A JSON file for each result, or a line."""
    if HOW == "each":
        for i in range(COUNT):
            (FOLDER / f"result{i}.json").write_text(json.dumps({"step": i}))
    else:
        with (FOLDER / "results.jsonl").open("w") as out:
            for i in range(COUNT):
                out.write(json.dumps({"step": i}) + "\n")


def table() -> None:
    """Made; read for each query, or once."""
    if HOW == "made":
        with (FOLDER / "table.csv").open("w", newline="") as out:
            csv.writer(out).writerows([i, "x" * 90] for i in range(20_000))
        return
    rows: list[str] = []
    for query in range(COUNT):
        if HOW == "each" or not rows:
            rows = (FOLDER / "table.csv").read_text().splitlines()
        _ = rows[query].split(",")


def database() -> None:
    """SQLite: a commit for each row, or one."""
    base = sqlite3.connect(FOLDER / "base.sqlite")
    base.execute("CREATE TABLE result (step INTEGER, value TEXT)")
    for i in range(COUNT):
        base.execute("INSERT INTO result VALUES (?, ?)", (i, "x" * 100))
        if HOW == "each":
            base.commit()
    base.commit()
    base.close()


def wait() -> None:
    """For a file that somebody else makes: asked for without a pause, or with."""
    for _ in range(COUNT):
        (FOLDER / "ready").exists()


def listing() -> None:
    """The sizes of 2,000 files, asked for by each of many steps, or once."""
    folder = FOLDER / "listed"
    sizes = {}
    for _ in range(COUNT):
        for entry in os.scandir(folder):
            sizes[entry.name] = (
                entry.stat().st_size if HOW == "stat" or entry.name not in sizes else sizes[entry.name]
            )


def many() -> None:
    """What `listing` lists."""
    folder = FOLDER / "listed"
    folder.mkdir()
    for i in range(COUNT):
        (folder / str(i)).write_bytes(b"x")


def modules() -> None:
    """An application of many modules, or of one."""
    sys.path.insert(0, str(FOLDER / "application"))
    for i in range(COUNT if HOW == "files" else 1):
        __import__(f"part{i}" if HOW == "files" else "whole")


def application() -> None:
    """What `modules` imports."""
    place = FOLDER / "application"
    place.mkdir()
    lines = [f"VALUE{i} = {i}\n" for i in range(COUNT)]
    for i, line in enumerate(lines):
        (place / f"part{i}.py").write_text(line)
    (place / "whole.py").write_text("".join(lines))


def chunks() -> None:
    """HDF5: 32 MiB in chunks of 1 KiB, or of 4 MiB."""
    import h5py
    import numpy as np

    with h5py.File(FOLDER / "chunks.h5", "w") as file:
        data = file.create_dataset("x", (8 << 20,), "f4", chunks=(COUNT,))
        data[:] = np.ones(8 << 20, "f4")


def datasets() -> None:
    """HDF5: a dataset for each result, or one for all."""
    import h5py
    import numpy as np

    with h5py.File(FOLDER / "datasets.h5", "w") as file:
        if HOW == "each":
            for i in range(COUNT):
                file.create_dataset(f"step{i}", data=np.ones(16))
        else:
            file.create_dataset("steps", data=np.ones((COUNT, 16)))


def fill() -> None:
    """HDF5: datasets that are filled before they are written, or not."""
    import numpy as np
    from h5py import File, h5d, h5p, h5s, h5t

    data, made = np.ones(4 << 20), h5p.create(h5p.DATASET_CREATE)
    made.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    made.set_fill_time(h5d.FILL_TIME_ALLOC if HOW == "each" else h5d.FILL_TIME_NEVER)
    made.set_fill_value(np.array(7.0))
    with File(FOLDER / "fill.h5", "w") as file:
        for i in range(COUNT):
            name, space = f"step{i}".encode(), h5s.create_simple(data.shape)
            h5d.create(file.id, name, h5t.NATIVE_DOUBLE, space, dcpl=made).write(h5s.ALL, h5s.ALL, data)


def samples() -> None:
    """HDF5: rows of compressed chunks, read in random order, or once into memory; or plain ones."""
    import h5py

    with h5py.File(FOLDER / "samples.h5") as file:
        data = file["x"][:] if HOW == "once" else file["plain" if HOW == "plain" else "x"]
        for i in random.Random(1).sample(range(1024), COUNT):
            _ = data[i]


def compressed() -> None:
    """What `samples` reads: 1,024 rows of 32 KiB, 32 in a chunk."""
    import h5py
    import numpy as np

    rows = np.random.default_rng(1).integers(0, 99, (1024, 4096)).astype("f8")
    with h5py.File(FOLDER / "samples.h5", "w") as file:
        file.create_dataset("x", data=rows, chunks=(32, 4096), compression="gzip")
        file.create_dataset("plain", data=rows)


def workers() -> None:
    """Four processes that read data0 whole, or take it from their parent."""
    import multiprocessing

    data = DATA.read_bytes() if HOW == "once" else b""
    work = [multiprocessing.Process(target=_work, args=(data,)) for _ in range(4)]
    for worker in work:
        worker.start()
    for worker in work:
        worker.join()


def _work(data: bytes) -> None:
    for _ in range(1 if data else COUNT):
        data = data or DATA.read_bytes()
        data = data if HOW == "once" else b""


if __name__ == "__main__":
    time.sleep(0.1)
    globals()[WHAT]()
