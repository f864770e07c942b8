// What threads have written is given to the bulk copy engine without a proxy fence.
// finding: missing-proxy-fence at 16
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_runtime.h>

namespace ptx = cuda::ptx;

__global__ void twice(const float* x, float* out) {
  __shared__ alignas(16) float tile[256];
  int i = threadIdx.x;
  tile[i] = 2 * x[256 * blockIdx.x + i];
  // ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (i == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 256 * blockIdx.x, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

int main() {
  float *x, *out;
  if (cudaMalloc(&x, 1024 * sizeof(float)) || cudaMalloc(&out, 1024 * sizeof(float))) return 2;
  cudaMemset(x, 0, 1024 * sizeof(float));
  twice<<<4, 256>>>(x, out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
