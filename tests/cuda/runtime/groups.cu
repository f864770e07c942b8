// Cooperative groups: tiles, partitions, reductions, scans, copies, clusters, the grid; cuda::pipeline and cuda::barrier.
// Prints the checks that failed, and "done".
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cstdio>
#include <vector>

#include "expect.h"
#include <algorithm>
namespace cg = cooperative_groups;
__global__ void tiles(const int *in, int *out) {
  auto block = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(block); auto eight = cg::tiled_partition<8>(warp);
  int v = in[block.thread_rank()];
  int s = cg::reduce(eight, v, cg::plus<int>()), m = cg::reduce(warp, v, cg::greater<int>()), x = cg::exclusive_scan(warp, v, cg::plus<int>());
  auto odd = cg::binary_partition(warp, v & 1);
  auto label = cg::labeled_partition(warp, v % 3);
  int c = cg::reduce(label, 1, cg::plus<int>());
  int e = eight.shfl_xor(v, 3), any = eight.any(v > 50), b = __popc(odd.ballot(1));
  if (warp.thread_rank() % 3 == 0) { auto some = cg::coalesced_threads(); c += 100 * some.size() + 10000 * some.thread_rank(); }
  int *o = out + block.thread_rank() * 8;
  o[0] = s; o[1] = m; o[2] = x; o[3] = odd.size(); o[4] = e; o[5] = any; o[6] = b; o[7] = c;
}
__global__ void staged(const float *in, float *out, int n) {
  __shared__ float tile[2][128];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipe = cuda::make_pipeline(block, &state);
  int batches = n / 128; float sum = 0;
  for (int fetch = 0, use = 0; use < batches; ++use) {
    for (; fetch < batches && fetch < use + 2; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[fetch % 2], in + fetch * 128, cuda::aligned_size_t<16>(512), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[use % 2][(threadIdx.x + 1) % 128];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
__global__ void arriving(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int box[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    box[threadIdx.x] = threadIdx.x + i; auto token = bar.arrive();
    bar.wait(std::move(token));
    out[threadIdx.x] += box[blockDim.x - 1 - threadIdx.x];
    bar.arrive_and_wait();
  }
}
__global__ void copied(const int4 *in, int4 *out) {
  extern __shared__ int4 staging[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, staging, in, sizeof(int4) * block.size()); cg::wait(block);
  out[block.thread_rank()] = staging[block.size() - 1 - block.thread_rank()];
}
__global__ void clustered(int *out) {
  __shared__ int mine; auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = 10 * cluster.block_rank();
  cluster.sync();
  int s = 0; for (unsigned r = 0; r < cluster.num_blocks(); r++) s += *cluster.map_shared_rank(&mine, r);
  out[blockIdx.x * blockDim.x + threadIdx.x] = s + cluster.block_rank();
  cluster.sync();
}
__global__ void all_together(int *data, int *sum) {
  auto grid = cg::this_grid();
  data[grid.thread_rank()] = grid.thread_rank(); grid.sync();
  int v = data[grid.size() - 1 - grid.thread_rank()];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int total = cg::reduce(warp, v, cg::plus<int>());
  if (warp.thread_rank() == 0) atomicAdd(sum, total);
  grid.sync();
  if (grid.thread_rank() == 0) sum[1] = *sum;
}


int main() {
  int *in, *out; OK(cudaMalloc(&in, 1 << 16)); OK(cudaMalloc(&out, 1 << 16)); OK(cudaMemset(out, 0, 1 << 16));
  std::vector<int> h(128), o(1024); for (int i = 0; i < 128; i++) h[i] = i * 37 % 101;
  OK(cudaMemcpy(in, h.data(), 512, cudaMemcpyDefault)); tiles<<<1, 128>>>(in, out); OK(cudaMemcpy(o.data(), out, 4096, cudaMemcpyDefault));
  int bad = 0;
  for (int i = 0; i < 128; i++) {
    int w = i / 32 * 32, e = i / 8 * 8, s = 0, m = -1, x = 0, odd = 0, any = 0, c = 0;
    for (int j = e; j < e + 8; j++) s += h[j], any |= h[j] > 50;
    for (int j = w; j < w + 32; j++) { m = std::max(m, h[j]); if (j < i) x += h[j]; odd += (h[j] & 1) == (h[i] & 1); c += h[j] % 3 == h[i] % 3; }
    if (i % 32 % 3 == 0) c += 1100 + 10000 * (i % 32 / 3);
    int want[8] = {s, m, x, odd, h[i ^ 3], any, odd, c};
    for (int j = 0; j < 8; j++) if (o[i * 8 + j] != want[j]) { if (!bad++) printf("thread %d value %d: %d, not %d\n", i, j, o[i * 8 + j], want[j]); }
  }
  EXPECT(!bad);
  std::vector<float> f(1024), g(128); for (int i = 0; i < 1024; i++) f[i] = i % 19;
  float *fi, *fo; OK(cudaMalloc(&fi, 4096)); OK(cudaMalloc(&fo, 512)); OK(cudaMemcpy(fi, f.data(), 4096, cudaMemcpyDefault));
  staged<<<1, 128>>>(fi, fo, 1024); OK(cudaMemcpy(g.data(), fo, 512, cudaMemcpyDefault));
  bad = 0; for (int t = 0; t < 128; t++) { float s = 0; for (int b = 0; b < 8; b++) s += f[b * 128 + (t + 1) % 128]; bad += s != g[t]; } EXPECT(!bad);
  OK(cudaMemset(out, 0, 4096)); arriving<<<1, 128>>>(out); OK(cudaMemcpy(o.data(), out, 512, cudaMemcpyDefault));
  bad = 0; for (int t = 0; t < 128; t++) bad += o[t] != 3 * (127 - t) + 3; EXPECT(!bad);
  OK(cudaFuncSetAttribute(copied, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  for (int i = 0; i < 1024; i++) o[i] = i; OK(cudaMemcpy(in, o.data(), 4096, cudaMemcpyDefault));
  copied<<<1, 256, 100 << 10>>>((int4 *)in, (int4 *)out); OK(cudaMemcpy(o.data(), out, 4096, cudaMemcpyDefault));
  bad = 0; for (int i = 0; i < 1024; i++) bad += o[i] != (255 - i / 4) * 4 + i % 4; EXPECT(!bad);
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 32;
  cudaLaunchAttribute attr[1];
  attr[0].id = cudaLaunchAttributeClusterDimension;
  attr[0].val.clusterDim = {4, 1, 1};
  config.attrs = attr;
  config.numAttrs = 1;
  OK(cudaLaunchKernelEx(&config, clustered, out)); OK(cudaMemcpy(o.data(), out, 1024, cudaMemcpyDefault));
  bad = 0; for (int i = 0; i < 256; i++) bad += o[i] != 60 + i / 32 % 4; EXPECT(!bad);
  int per = 0, coop = 0;
  OK(cudaDeviceGetAttribute(&coop, cudaDevAttrCooperativeLaunch, 0));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, all_together, 128, 0));
  OK(cudaMemset(in, 0, 8));
  void *args[] = {&out, &in};
  OK(cudaLaunchCooperativeKernel((void *)all_together, 16, 128, args, 0, 0));
  OK(cudaMemcpy(o.data(), in, 8, cudaMemcpyDefault));
  EXPECT(coop && per > 0 && o[0] == 2048 * 2047 / 2 && o[1] == o[0]);
  int smallest, best; OK(cudaOccupancyMaxPotentialBlockSize(&smallest, &best, arriving)); EXPECT(best > 0 && smallest > 0);
  FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(copied, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  puts("done");
  return failures;
}
