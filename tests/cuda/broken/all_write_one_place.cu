// The index lacks blockIdx: every block writes the same elements.
// ptxsim: launch grid=4 block=32
// ptxsim: arg y = zeros(128):s32
// ptxsim: expect race-global at 6
__global__ void number_of_the_block(int* y) {
  y[threadIdx.x] = blockIdx.x;
}
