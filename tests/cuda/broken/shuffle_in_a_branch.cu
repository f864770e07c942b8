// Lanes 20 and up have gone another way, and the mask names them.
// ptxsim: launch block=32
// ptxsim: arg x = ones(32):f32
// ptxsim: expect member-mask at 8
__global__ void sum_of_some(float* x) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 20)
    v += __shfl_xor_sync(0xffffffff, v, 1);
  x[threadIdx.x] = v;
}
