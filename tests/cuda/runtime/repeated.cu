// Launches again and again: from the same state and from others, of a kernel that prints, and with the host's changes in between.
#include "expect.h"

__global__ void square(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }
__global__ void more(int *x) { x[threadIdx.x] += 1; }
__global__ void swap(int *x, int *y) {
  int t = x[threadIdx.x];
  x[threadIdx.x] = y[threadIdx.x];
  y[threadIdx.x] = t;
}
__global__ void says() {
  if (threadIdx.x == 0) printf("kernel\n");
}

int main() {
  int *x, *y;
  OK(cudaMallocHost(&x, 256));
  OK(cudaMallocManaged(&y, 256));
  for (int i = 0; i < 64; ++i) x[i] = i;
  for (int i = 0; i < 10; ++i) square<<<1, 64>>>(x, y);
  OK(cudaDeviceSynchronize());
  EXPECT(y[7] == 49);
  x[7] = 10;  // the host's: nobody says so
  square<<<1, 64>>>(x, y);
  OK(cudaDeviceSynchronize());
  EXPECT(y[7] == 100);
  x[7] = 7;
  square<<<1, 64>>>(x, y);
  OK(cudaDeviceSynchronize());
  EXPECT(y[7] == 49);
  for (int i = 0; i < 10; ++i) more<<<1, 64>>>(x);
  OK(cudaDeviceSynchronize());
  EXPECT(x[5] == 15);
  for (int i = 0; i < 11; ++i) swap<<<1, 64>>>(x, y);
  OK(cudaDeviceSynchronize());
  EXPECT(x[5] == 25 && y[5] == 15);
  for (int i = 0; i < 5; ++i) says<<<1, 32>>>();
  OK(cudaDeviceSynchronize());
  printf("%s\n", failures ? "failed" : "done");
  return failures ? 1 : 3;
}
