// A ring of two stages: copies fill it, one warp reads it. The wait for a full stage names parity 0 in every round.
// ptxsim: launch block=64
// ptxsim: arg x = ramp(512):u32
// ptxsim: arg y = zeros(512):u32
// ptxsim: expect missing-wait at 29
// (The mbarrier overflows, too: that is a note of it.)
#include <cuda/ptx>

namespace ptx = cuda::ptx;

__global__ void ring(const unsigned* x, unsigned* y) {
  __shared__ alignas(8) unsigned long long full[2], empty[2];
  __shared__ alignas(128) unsigned stage[2][64];
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; ++s) ptx::mbarrier_init(&full[s], 1), ptx::mbarrier_init(&empty[s], 32);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < 8; ++k) {
      int s = k % 2, parity = k / 2 & 1;
      while (!ptx::mbarrier_try_wait_parity(&empty[s], parity ^ 1)) continue;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 256);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[s], x + 64 * k, 256, &full[s]);
    }
  } else if (threadIdx.x >= 32) {
    for (int k = 0; k < 8; ++k) {
      int s = k % 2;
      while (!ptx::mbarrier_try_wait_parity(&full[s], 0)) continue;
      for (int i = threadIdx.x - 32; i < 64; i += 32)
        y[64 * k + i] = stage[s][i];
      ptx::mbarrier_arrive(&empty[s]);
    }
  }
}
