// Blocks read what their neighbours write in the same launch. finding: race-global at 7
#include <utility>
__global__ void smooth(float* line, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float left = i > 0 ? line[i - 1] : 0, right = i + 1 < n ? line[i + 1] : 0;
  __syncthreads();
  if (i < n) line[i] = (left + line[i] + right) / 3;
}
int main() {
  float* line;
  cudaMallocManaged(&line, 512 * sizeof(float));
  for (int i = 0; i < 512; ++i) line[i] = i % 7;
  smooth<<<4, 128>>>(line, 512);
  return cudaDeviceSynchronize();
}
