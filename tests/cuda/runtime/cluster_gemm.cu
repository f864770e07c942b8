// D = A B^T as CUTLASS's kernels for sm_90 do it: clusters of two CTAs share the tiles of B by multicast, tiles start within their
// swizzle's pattern, lanes release a stage in several CTAs at once. Prints "passed".
#include <cuda.h>
#include <cuda_fp16.h>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int TILE = 64, STAGES = 2, TILE_BYTES = TILE * TILE * 2, OFFSET = 384;  // OFFSET: where in the pattern of 1024 bytes

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint32_t of_cta(uint32_t address, int rank) {
  uint32_t found;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address), "r"(rank));
  return found;
}
__device__ void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(barrier),
      "r"(parity) : "memory");
}
__device__ void load(uint32_t to, const CUtensorMap &map, int x, int y, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
__device__ void load_for_all(uint32_t to, const CUtensorMap &map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
          to), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((uint16_t)3) : "memory");
}
__device__ uint64_t descriptor(uint32_t address) {  // 128-byte swizzle, 1024 bytes from 8 rows to the next
  return (uint64_t)(address >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,"
      "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
      : D8(0), D8(8), D8(16), D8(24) : "l"(a), "l"(b));
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
gemm(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, float *D, int n, int k) {
  extern __shared__ __align__(1024) char tiles[];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  uint32_t base = shared_address(tiles) + OFFSET, rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(&empty[s])));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  assert(k % TILE == 0);
  float d[32] = {};
  int m0 = blockIdx.x * TILE, n0 = blockIdx.y * TILE, steps = k / TILE;
  for (int step = 0; step < steps; ++step) {
    int s = step % STAGES, phase = step / STAGES & 1;
    uint32_t a = base + s * 2 * TILE_BYTES, b = a + TILE_BYTES, ready = shared_address(&full[s]);
    if (threadIdx.x == 0) {
      wait(shared_address(&empty[s]), phase ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ready), "r"(2 * TILE_BYTES) : "memory");
      load(a, A, step * TILE, m0, ready);
      load_for_all(b + rank * TILE_BYTES / 2, B, step * TILE, n0 + rank * TILE / 2, ready);
    }
    __syncwarp();
    wait(ready, phase);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int i = 0; i < TILE / 16; ++i) multiply(d, descriptor(a + 32 * i), descriptor(b + 32 * i));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < 2)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                       of_cta(shared_address(&empty[s]), threadIdx.x)) : "memory");
  }
  int row = m0 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = n0 + threadIdx.x % 4 * 2;
  for (int i = 0; i < 32; ++i) D[(row + i / 2 % 2 * 8) * n + column + i / 4 * 8 + i % 2] = d[i];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");  // no CTA ends while it is written to
}

static CUtensorMap map_of(const __half *data, int rows, int k, int box_rows) {
  void *entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  cuuint64_t sizes[] = {(cuuint64_t)k, (cuuint64_t)rows}, strides[] = {(cuuint64_t)k * 2};
  cuuint32_t box[] = {TILE, (cuuint32_t)box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  CUresult result = ((decltype(&cuTensorMapEncodeTiled))entry)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  assert(result == CUDA_SUCCESS);
  return map;
}

int main() {
  const int m = 256, n = 128, k = 320, bytes = STAGES * 2 * TILE_BYTES + 1024;
  std::vector<__half> a(m * k), b(n * k);
  for (int i = 0; i < m * k; ++i) a[i] = i * 7 % 5 - 2;
  for (int i = 0; i < n * k; ++i) b[i] = i * 3 % 7 - 3;
  std::vector<float> d(m * n);
  __half *A, *B;
  float *D;
  cudaMalloc(&A, 2 * m * k);
  cudaMalloc(&B, 2 * n * k);
  cudaMalloc(&D, 4 * m * n);
  cudaMemcpy(A, a.data(), 2 * m * k, cudaMemcpyHostToDevice);
  cudaMemcpy(B, b.data(), 2 * n * k, cudaMemcpyHostToDevice);
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  gemm<<<dim3(m / TILE, n / TILE), 128, bytes>>>(map_of(A, m, k, TILE), map_of(B, n, k, TILE / 2), D, n, k);
  cudaMemcpy(d.data(), D, 4 * m * n, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int t = 0; t < k; ++t) sum += (float)a[i * k + t] * (float)b[j * k + t];
      wrong += d[i * n + j] != sum;
    }
  printf("%s\n", cudaGetLastError() == cudaSuccess && !wrong ? "passed" : "failed");
  return wrong != 0;
}
