// Rows of pitched memory are as many bytes apart as the pitch says, not as many elements.
// finding: out-of-bounds at 10
#include <cuda_runtime.h>

__global__ void fill(float* image, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float* row = image + y * pitch;
  row[x] = x + y;
}

int main() {
  float* image;
  size_t pitch;
  if (cudaMallocPitch(&image, &pitch, 100 * sizeof(float), 40)) return 2;
  fill<<<dim3(7, 5), dim3(16, 8)>>>(image, pitch, 100, 40);
  return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
}
