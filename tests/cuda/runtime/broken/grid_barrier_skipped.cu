// One block of a cooperative launch leaves before the barrier of the grid. finding: deadlock at 6
#include <cooperative_groups.h>
__global__ void sweep(int* sums, int blocks) {
  if (blockIdx.x == blocks) return;
  atomicAdd(sums, threadIdx.x);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) sums[blockIdx.x + 1] = sums[0];
}
int main() {
  int *sums, blocks = 3;
  cudaMalloc(&sums, 64);
  cudaMemset(sums, 0, 64);
  void* args[] = {&sums, &blocks};
  cudaLaunchCooperativeKernel((void*)sweep, 4, 64, args, 0, 0);
  return cudaGetLastError() == cudaErrorLaunchTimeout ? 0 : 9;
}
