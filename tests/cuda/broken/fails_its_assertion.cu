// What the host must never pass.
// ptxsim: launch block=32
// ptxsim: arg x = ones(32):f32
// ptxsim: arg n = 0
// ptxsim: expect trap at 8
__global__ void divide(float* x, int n) {
  if (n == 0)
    __trap();
  x[threadIdx.x] /= n;
}
