// The copy is committed, and nobody waits for it. (Its instructions come from a header of CUDA's.)
// ptxsim: launch block=32
// ptxsim: arg x = ramp(128):f32
// ptxsim: arg y = zeros(32):f32
// ptxsim: expect cp-async-not-waited at 14
#include <cuda_pipeline.h>

__global__ void through_shared(const float* x, float* y) {
  __shared__ __align__(16) float tile[128];
  int i = threadIdx.x;
  __pipeline_memcpy_async(tile + 4 * i, x + 4 * i, 16);
  __pipeline_commit();
  __syncthreads();
  y[i] = tile[4 * i];
}
