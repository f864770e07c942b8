// Compiled apart from second.cu: each has a variable and a function of its own of the same names, and uses the other's.
#include <cstdio>

#include "both.h"

__device__ int counter = 3;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ int own = 10;
static __device__ __noinline__ int helper(int x) { return x + own; }

__global__ void first(float *out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = scale(table[i % 4]) + helper(i) + twice(i);
  if (i == 0) printf("first %d\n", n);
}

int main() {
  float *out;
  cudaMallocManaged(&out, 64 * sizeof(float));
  first<<<1, 32>>>(out, 32);
  launch_second(out + 32, 32);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  for (int i = 0; i < 32; i++)
    if (out[i] != 5 * (i % 4 + 1) + (i + 10) + 2 * i || out[32 + i] != 2 * i + 3 + (100 * i + 20)) return 1;
  second_beyond(out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
