// Each thread frees what its block shares.
// finding: out-of-bounds at 14
#include <cuda_runtime.h>

__global__ void scratch(int* out) {
  __shared__ int* kept;
  if (threadIdx.x == 0) kept = (int*)malloc(blockDim.x * sizeof(int));
  __syncthreads();
  kept[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 2)
    free(kept);
}

int main() {
  int* out;
  if (cudaMalloc(&out, 64 * sizeof(int))) return 2;
  scratch<<<1, 64>>>(out);
  return cudaDeviceSynchronize() == cudaSuccess;
}
