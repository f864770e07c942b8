// Nobody sets the flag.
// ptxsim: launch block=32
// ptxsim: arg flag = zeros(1):s32
// ptxsim: expect deadlock at 6
__global__ void wait(volatile int* flag) {
  while (*flag == 0) {
  }
}
