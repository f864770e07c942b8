// The host gives memory back that a later kernel still reads. finding: out-of-bounds at 4
#include <cstdio>
__global__ void scale(const float* weights, float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = 2 * weights[threadIdx.x];
}
int main() {
  float *weights, *out;
  cudaMalloc(&weights, 64 * sizeof(float));
  cudaMalloc(&out, 64 * sizeof(float));
  cudaMemset(weights, 0, 64 * sizeof(float));
  cudaFree(weights);
  scale<<<1, 64>>>(weights, out, 64);
  return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 9;
}
