// A ring of two buffers: the copy of the next round may land where a slower warp still reads. (The compiler unrolls the loop.)
// ptxsim: launch block=128
// ptxsim: arg x = ramp(1024):f32
// ptxsim: arg y = zeros(1024):f32
// ptxsim: expect cp-async-not-waited at 17
#include <cuda_pipeline.h>

__global__ void sums(const float* x, float* y) {
  __shared__ float ring[2][128];
  int i = threadIdx.x;
  __pipeline_memcpy_async(&ring[0][i], x + i, 4);
  __pipeline_commit();
  for (int k = 0; k < 8; ++k) {
    if (k < 7) { __pipeline_memcpy_async(&ring[(k + 1) % 2][i], x + 128 * (k + 1) + i, 4); __pipeline_commit(); }
    __pipeline_wait_prior(k < 7 ? 1 : 0);
    __syncthreads();
    y[128 * k + i] = ring[k % 2][i] + ring[k % 2][(i + 1) % 128];
  }
}
