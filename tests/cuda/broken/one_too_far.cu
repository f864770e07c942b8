// <= where < was meant.
// ptxsim: launch grid=2 block=64
// ptxsim: arg x = ones(100):f32
// ptxsim: arg n = 100
// ptxsim: expect out-of-bounds at 8
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] *= 2;
}
