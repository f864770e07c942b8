// Threads of several warps add to one counter, one after the other as they think.
// ptxsim: launch block=128
// ptxsim: arg x = ints(128,seed=1):u32
// ptxsim: arg h = zeros(8):u32
// ptxsim: expect race-shared at 10
__global__ void histogram(const unsigned* x, unsigned* h) {
  __shared__ unsigned bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  bins[x[threadIdx.x] & 7]++;
  __syncthreads();
  if (threadIdx.x < 8) h[threadIdx.x] = bins[threadIdx.x];
}
