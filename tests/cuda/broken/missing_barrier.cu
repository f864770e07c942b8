// The reversed half of the block is read before it has been written.
// ptxsim: launch block=128
// ptxsim: arg data = ramp(128):s32
// ptxsim: expect race-shared at 9
__global__ void reverse(int* data) {
  __shared__ int tile[128];
  int i = threadIdx.x;
  tile[i] = data[i];
  data[i] = tile[127 - i];
}
