// A programmatic dependent launch reads before it waits for the kernel before it. finding: missing-grid-wait at 8
#include <cuda_runtime.h>
__global__ void fill(float* x, int first) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[threadIdx.x] = first + threadIdx.x;
}
__global__ void twice(const float* x, float* y) {
  float mine = x[threadIdx.x];
  cudaGridDependencySynchronize();
  y[threadIdx.x] = 2 * mine;
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  for (int dependent = 0; dependent < 2; ++dependent) {  // the first launch is none, and right
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how{};
    how.gridDim = 1, how.blockDim = 64, how.attrs = &attribute, how.numAttrs = dependent;
    fill<<<1, 64>>>(x, 1 + dependent);
    cudaLaunchKernelEx(&how, twice, (const float*)x, y);
  }
  return cudaGetLastError();
}
