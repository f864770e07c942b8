// A sum of two vectors with its host: nvcc -cudart shared -lineinfo -arch=sm_90 -o vadd samples/vadd.cu; ptxsim exec ./vadd
#include <cstdio>

__global__ void vadd(const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

int main() {
  const int n = 5000;
  float *x, *y, *out;
  cudaMallocManaged(&x, n * sizeof *x);
  cudaMallocManaged(&y, n * sizeof *y);
  cudaMallocManaged(&out, n * sizeof *out);
  for (int i = 0; i < n; i++) x[i] = i, y[i] = 2 * i;
  vadd<<<(n + 255) / 256, 256>>>(x, y, out, n);
  cudaError_t error = cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += out[i] != 3 * i;
  printf("%s, %d wrong\n", cudaGetErrorString(error), wrong);
  return error != cudaSuccess || wrong;
}
