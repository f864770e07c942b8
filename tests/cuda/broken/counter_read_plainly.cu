// One block reads what the others still add to.
// ptxsim: launch grid=4 block=32
// ptxsim: arg count = zeros(1):s32
// ptxsim: arg last = zeros(1):s32
// ptxsim: expect race-global at 8
__global__ void count_threads(int* count, int* last) {
  atomicAdd(count, 1);
  if (blockIdx.x == 3 && threadIdx.x == 0) *last = *count;
}
