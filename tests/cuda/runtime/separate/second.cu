#include <cstdio>

#include "both.h"

extern __device__ int counter;
static __device__ int own = 20;
static __device__ __noinline__ int helper(int x) { return 100 * x + own; }
__device__ float scale(float x) { return 5 * x; }

__global__ void second(float *out, int n) {
  extern __shared__ int kept[];
  int i = threadIdx.x;
  kept[i] = twice(i);
  __syncthreads();
  if (i < n) out[i] = kept[i] + counter + helper(i);
  if (i == 0) printf("second %d\n", n);
}

void launch_second(float *out, int n) { second<<<1, 32, 32 * sizeof(int)>>>(out, n); }
void second_beyond(float *out) { second<<<1, 64, 64 * sizeof(int)>>>(out + 32, 33); }
