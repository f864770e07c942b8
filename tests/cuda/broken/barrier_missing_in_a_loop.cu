// A sum over the CTA. The loop, which the compiler unrolls, lacks its __syncthreads().
// ptxsim: launch grid=2 block=128
// ptxsim: arg x = ints(256,seed=1):s32
// ptxsim: arg out = zeros(2):s32
// ptxsim: expect race-shared at 12
__global__ void blocksum(const int* x, int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
