"""A warm launch of a vector add (1024 elements) by an executable with the CUDA runtime, all checks on: milliseconds.

    python tools/bench/cudart.py [--launches N]

The program is built with nvcc and reads the clock itself. It also counts processor time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from ptxsim.cuda.runtime import environment

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <ctime>
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
static double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
static int compare(const void* a, const void* b) { return *(double*)a < *(double*)b ? -1 : 1; }
int main(int, char** argv) {
  int launches = atoi(argv[1]);
  float* x;
  double *wall = (double*)malloc(launches * 8), *busy = (double*)malloc(launches * 8);
  cudaMalloc(&x, 3 * 4096);
  cudaMemset(x, 0, 3 * 4096);
  for (int i = -20; i < launches; ++i) {
    cudaMemset(x, i & 15, 3);  // what is launched again on the same input is not run
    double began = now(CLOCK_MONOTONIC), worked = now(CLOCK_PROCESS_CPUTIME_ID);
    add<<<4, 256>>>(x, x + 1024, x + 2048, 1024);
    if (i >= 0) wall[i] = now(CLOCK_MONOTONIC) - began, busy[i] = now(CLOCK_PROCESS_CPUTIME_ID) - worked;
  }
  qsort(wall, launches, 8, compare);
  qsort(busy, launches, 8, compare);
  printf("%s: %.2f ms a launch on the clock, %.2f ms of processor time (medians of %d)\n",
         cudaGetErrorName(cudaGetLastError()), wall[launches / 2], busy[launches / 2], launches);
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=500)
    launches = parser.parse_args().launches
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "add.cu"), Path(folder, "add")
        source.write_text(PROGRAM)
        subprocess.run(["nvcc", "-cudart", "shared", "-arch=sm_90", "-o", program, source], check=True)
        subprocess.run([program, str(launches)], env=os.environ | environment(program), check=True)


if __name__ == "__main__":
    main()
