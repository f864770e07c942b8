// The flag says that the data is there, and nothing orders the two.
// ptxsim: launch grid=2 block=1
// ptxsim: arg data = zeros(1):s32
// ptxsim: arg flag = zeros(1):s32
// ptxsim: arg seen = zeros(1):s32
// ptxsim: expect race-global
__global__ void hand_over(int* data, int* flag, int* seen) {
  if (blockIdx.x == 0) {
    *data = 42;
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    *seen = *data;
  }
}
