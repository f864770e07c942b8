// The last steps of a reduction within one warp: lanes are not in step unless __syncwarp says so.
// finding: race-warp at 16
#include <cuda_runtime.h>

__global__ void sum(const int* x, int* out) {
  __shared__ int part[128];
  int i = threadIdx.x;
  part[i] = x[i];
  __syncthreads();
  for (int n = 64; n >= 32; n /= 2) {
    if (i < n) part[i] += part[i + n];
    __syncthreads();
  }
  if (i < 32)
    for (int n = 16; n > 0; n /= 2)
      part[i] += part[i + n];
  if (i == 0) *out = part[0];
}

int main() {
  int *x, *out;
  if (cudaMallocManaged(&x, 128 * sizeof(int)) || cudaMallocManaged(&out, sizeof(int))) return 2;
  for (int i = 0; i < 128; ++i) x[i] = i;
  sum<<<1, 128>>>(x, out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
