// A kernel that goes on when the host, which has launched it, writes to memory that both see.
__global__ void wait(volatile unsigned *latch) {
  while (*latch == 0) {
  }
}

int main() {
  unsigned *latch;
  if (cudaMallocManaged(&latch, sizeof *latch)) return 2;
  *latch = 0;
  wait<<<1, 1>>>(latch);
  *(volatile unsigned *)latch = 1;
  return cudaDeviceSynchronize() == cudaErrorLaunchTimeout ? 0 : 3;
}
