#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's allreduce over gloo, for comparison with mpi_allreduce_benchmark: medians of the slowest rank's time.

    gloo_allreduce.py RANK RANKS ADDRESS:PORT [ROUNDS]      once per rank; GLOO_SOCKET_IFNAME selects the network
"""
import datetime
import statistics
import sys
import time

import torch
import torch.distributed as dist

SIZES = (1_000, 67_780, 1_000_000, 16_000_000)  # numbers of f32, as in mpi_allreduce_benchmark

PAUSE = 0.02  # pause in seconds before each measurement, after which a shaped link has its full burst


def main(rank, ranks, address, rounds=31):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://{address}", rank=int(rank), world_size=int(ranks),
                            timeout=datetime.timedelta(seconds=120))
    for size in SIZES:
        values = torch.ones(size)
        times = []
        for _ in range(int(rounds)):
            time.sleep(PAUSE)
            dist.barrier()
            begin = time.perf_counter()
            dist.all_reduce(values)
            slowest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            times.append(slowest.item())
            values.fill_(1)
        if rank == "0":
            print(f"{4 * size:10d} bytes: gloo {1e6 * statistics.median(times):9.1f} us", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
