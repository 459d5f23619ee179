"""A steady stream of questions to a server, in a process of its own: `load.py PORT RATE FILE`, until its input ends.

Each question has a time at which it is due, and its latency counts from then, so that a server that stalls does not
slow down the asking. FILE gets one JSON array a question: when it was due (monotonic), latency in seconds, status.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path

QUESTION = json.dumps(
    {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "workload": {"kind": "inference", "context_tokens": 8192, "concurrency": 16},
        "cards": ["rtx-4090", "a100-sxm-80", "h100-sxm-80", {"card": "l4", "count": 2, "layout": {"tensor": 2}}],
        "ways_to_fit": False,
    }
).encode()
REQUEST = (
    b"POST /estimate-vram HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(QUESTION)
) + QUESTION
CONNECTIONS = 40


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The status of one answer, read to its end."""
    writer.write(REQUEST)
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


async def work(port: int, due: asyncio.Queue[float], samples: list[tuple[float, float, int]]) -> None:
    """Ask whenever something is due; status 0 stands for a connection that broke."""
    clock = asyncio.get_running_loop().time
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        moment = await due.get()
        try:
            status = await ask(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            status = 0
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        samples.append((moment, clock() - moment, status))


async def main(port: int, rate: float) -> list[tuple[float, float, int]]:
    """Ask until standard input ends."""
    loop = asyncio.get_running_loop()
    due: asyncio.Queue[float] = asyncio.Queue()
    samples: list[tuple[float, float, int]] = []
    workers = [asyncio.create_task(work(port, due, samples)) for _ in range(CONNECTIONS)]
    ended = loop.run_in_executor(None, sys.stdin.read)
    moment = loop.time()
    while not ended.done():
        moment += 1 / rate
        await asyncio.sleep(max(moment - loop.time(), 0))
        due.put_nowait(moment)
    await asyncio.sleep(1)
    for worker in workers:
        worker.cancel()
    return samples


if __name__ == "__main__":
    gc.disable()
    asked = asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
    Path(sys.argv[3]).write_text("".join(json.dumps(sample) + "\n" for sample in asked))
