// What programs ask of the CUDA runtime, each with its own check; prints the names of the checks that failed, and "done".
// features [illegal|host|sticky]: the ways to go wrong that end a process.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "expect.h"

namespace cg = cooperative_groups;

struct Pair { float *out; int n; };
__device__ int counter = 40;
__constant__ float scale[4] = {1, 2, 3, 4};
__managed__ int shared_by_both = 7;

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void fill(Pair pair, float value) {
  int i = threadIdx.x;
  if (i < pair.n) pair.out[i] = value * scale[i % 4];
}
__global__ void touch(int *place) {
  if (threadIdx.x == 0) {
    *place += shared_by_both;
    shared_by_both = 8;
    atomicAdd(&counter, 2);
  }
}
__global__ void half_a_mebibyte_each(int *given) {
  char *mine = (char *)malloc(1 << 19);
  if (mine) {
    mine[(1 << 19) - 1] = 1;
    atomicAdd(given, 1);
    free(mine);
  }
}
__global__ void say(int n) { printf("kernel %d %s\n", n, "prints"); }
__global__ void turned(int *out, int by) {
  int mine[25];
  for (int i = 0; i < 25; i++) mine[(i + by) % 25] = i;
  out[threadIdx.x] = mine[threadIdx.x];
}
__global__ void __launch_bounds__(64) bounded(int *out) { out[threadIdx.x] = 1; }
__global__ void dynamic(int *out) {
  extern __shared__ int words[];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}
__global__ void reverse_all(int *data, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i < n) data[i] = i;
  grid.sync();
  int value = i < n ? data[n - 1 - i] : 0;
  grid.sync();
  if (i < n) data[i] = value;
}
__global__ void ranks(int *out) {
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  out[blockIdx.x] = 10 * size + rank;
}
__global__ void beyond(int *out) { out[100000000 + threadIdx.x] = 1; }

static void memory() {
  float a[300], b[300], c[300], *x, *y, *z;
  for (int i = 0; i < 300; ++i) a[i] = i, b[i] = 2 * i;
  OK(cudaMalloc(&x, sizeof a));
  OK(cudaMalloc(&y, sizeof a));
  OK(cudaMallocAsync((void **)&z, sizeof a, 0));
  OK(cudaMemcpy(x, a, sizeof a, cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(y, b, sizeof a, cudaMemcpyDefault, 0));
  add<<<2, 256>>>(x, y, z, 300);
  OK(cudaGetLastError());
  OK(cudaMemcpy(c, z, sizeof a, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 300; ++i) EXPECT(c[i] == 3 * i);
  fill<<<1, 300>>>(Pair{z, 8}, 0.5f);  // a pointer in a structure
  OK(cudaMemcpy(c, z, sizeof a, cudaMemcpyDeviceToHost));
  EXPECT(c[3] == 2 && c[7] == 2 && c[8] == 24);
  OK(cudaMemset(z, 0xff, 16));
  OK(cudaMemcpy(c, z, 20, cudaMemcpyDeviceToHost));
  unsigned word;
  memcpy(&word, c, 4);
  EXPECT(word == ~0u && c[4] == 0.5f);
  cudaPointerAttributes about;
  OK(cudaPointerGetAttributes(&about, x + 1));
  EXPECT(about.type == cudaMemoryTypeDevice && about.devicePointer == x + 1 && !about.hostPointer);
  OK(cudaPointerGetAttributes(&about, a));
  EXPECT(about.type == cudaMemoryTypeUnregistered);

  int *both, *pinned, one = 1;
  OK(cudaMallocManaged(&both, 4));
  OK(cudaHostAlloc(&pinned, 8, cudaHostAllocMapped));
  *both = 5, pinned[1] = 6;  // the host's own accesses
  touch<<<1, 32>>>(both);
  OK(cudaDeviceSynchronize());
  EXPECT(*both == 12 && shared_by_both == 8);
  shared_by_both = 1;
  touch<<<1, 32>>>(pinned + 1);
  EXPECT(pinned[1] == 7);
  OK(cudaPointerGetAttributes(&about, both));
  EXPECT(about.type == cudaMemoryTypeManaged && about.hostPointer == both);
  int value;
  OK(cudaMemcpyFromSymbol(&value, counter, 4));
  EXPECT(value == 44);
  OK(cudaMemcpyToSymbol(counter, &one, 4));
  void *address;
  size_t size;
  OK(cudaGetSymbolAddress(&address, counter));
  OK(cudaGetSymbolSize(&size, scale));
  OK(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 1 && size == 16);

  char rows[4][6], *pitched;
  size_t pitch;
  memset(rows, 'a', sizeof rows);
  OK(cudaMallocPitch(&pitched, &pitch, 6, 4));
  EXPECT(pitch >= 6 && pitch % 32 == 0);
  OK(cudaMemset2D(pitched, pitch, 'b', 6, 4));
  OK(cudaMemcpy2D(rows[1], 6, pitched, pitch, 5, 2, cudaMemcpyDeviceToHost));
  EXPECT(!memcmp(rows, "aaaaaabbbbbabbbbbaaaaaaa", 24));
  cudaPitchedPtr box;
  OK(cudaMalloc3D(&box, cudaExtent{6, 2, 2}));
  OK(cudaMemset3D(box, 'c', cudaExtent{6, 2, 2}));
  cudaMemcpy3DParms p = {};
  p.srcPtr = box, p.dstPtr = cudaPitchedPtr{rows, 6, 6, 2}, p.extent = cudaExtent{3, 2, 2}, p.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&p));
  EXPECT(!memcmp(rows, "cccaaacccbbacccbbacccaaa", 24));

  FAILS(cudaErrorInvalidValue, cudaMemcpy(x, a, 5000, cudaMemcpyHostToDevice));  // more than was allocated
  FAILS(cudaErrorInvalidValue, cudaFree((char *)x + 4));
  FAILS(cudaErrorInvalidValue, cudaFreeHost(x));
  FAILS(cudaErrorInvalidValue, cudaMalloc((void **)0, 4));
  FAILS(cudaErrorMemoryAllocation, cudaMalloc(&address, 1ull << 50));
  OK(cudaFree(x));
  FAILS(cudaErrorInvalidValue, cudaFree(x));
  OK(cudaFree(0));
  OK(cudaFree(both));
  OK(cudaFreeHost(pinned));
}

static void launches() {
  int *out, host[512];
  OK(cudaMalloc(&out, sizeof host));
  int n = 500;
  void *args[] = {&out, &n};
  OK(cudaLaunchCooperativeKernel((void *)reverse_all, 4, 128, args, 0, 0));
  OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 499 && host[499] == 0);

  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t configuration = {dim3(4), dim3(32), 0, 0, &cluster, 1};
  OK(cudaLaunchKernelEx(&configuration, ranks, out));
  OK(cudaMemcpy(host, out, 16, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 20 && host[1] == 21 && host[2] == 20 && host[3] == 21);
  int clusters;
  OK(cudaOccupancyMaxActiveClusters(&clusters, ranks, &configuration));
  EXPECT(clusters >= 66);
  configuration.gridDim = dim3(3);
  FAILS(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&configuration, ranks, out));

  say<<<1, 1>>>(3);
  printf("host\n");
  FAILS(cudaErrorInvalidConfiguration, (bounded<<<1, 2000>>>(out), cudaPeekAtLastError()));
  FAILS(cudaErrorInvalidValue, (bounded<<<1, 128>>>(out), cudaPeekAtLastError()));
  FAILS(cudaErrorInvalidConfiguration, (bounded<<<0, 32>>>(out), cudaPeekAtLastError()));
  FAILS(cudaErrorInvalidValue, (dynamic<<<1, 512, 100000>>>(out), cudaPeekAtLastError()));
  OK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  dynamic<<<1, 512, 100000>>>(out);
  OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 511 && host[511] == 0);
  FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000));
  FAILS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)host, 1, 1, args, 0, 0));

  cudaFuncAttributes about;
  OK(cudaFuncGetAttributes(&about, bounded));
  EXPECT(about.maxThreadsPerBlock == 64 && about.numRegs > 0 && about.ptxVersion == 90 && about.binaryVersion == 90);
  EXPECT(about.localSizeBytes == 0 && about.constSizeBytes == sizeof scale);
  OK(cudaFuncGetAttributes(&about, turned));
  EXPECT(about.localSizeBytes >= 100 && about.localSizeBytes <= 112);
  int blocks;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  EXPECT(blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamic, 256, 100000));
  EXPECT(blocks == 2);
}

static void device() {
  int count, value;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
  cudaDeviceProp p;
  OK(cudaGetDeviceProperties(&p, 0));
  EXPECT(p.major == 9 && p.minor == 0 && p.multiProcessorCount == 132 && p.warpSize == 32 && strstr(p.name, "ptxsim"));
  EXPECT(p.sharedMemPerBlockOptin == 232448 && p.maxGridSize[1] == 65535 && p.clusterLaunch == 1 && p.hostNumaId == -1);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT(value == 232448);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlockDimZ, 0));
  EXPECT(value == 64);
  FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
  FAILS(cudaErrorInvalidDevice, cudaSetDevice(3));
  EXPECT(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
  EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"));
  EXPECT(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
  cudaIpcMemHandle_t handle;
  FAILS(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, &count));
}

static void called(void *data) { *(int *)data += 1; }

static void streams() {
  float *x, milliseconds;
  int calls = 0;
  cudaStream_t stream;
  cudaEvent_t start, end;
  OK(cudaMalloc(&x, 4096));
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  OK(cudaEventRecord(start, stream));
  add<<<4, 256, 0, stream>>>(x, x, x, 1024);
  OK(cudaEventRecord(end, stream));
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds > 1e-4f && milliseconds < 1e-2f);
  add<<<4, 256, 0, stream>>>(x, x, x, 1024);
  OK(cudaEventRecord(start, stream));
  float again;
  OK(cudaEventElapsedTime(&again, end, start));
  EXPECT(again == milliseconds);
  OK(cudaLaunchHostFunc(stream, called, &calls));
  EXPECT(calls == 1);
  OK(cudaStreamWaitEvent(stream, end, 0));
  OK(cudaStreamSynchronize(stream));
  OK(cudaEventDestroy(end));
  FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(end, stream));
  OK(cudaStreamDestroy(stream));
  FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
}

static void graphs() {
  float *x, *y, h[64];
  cudaStream_t s, other;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamCaptureStatus status;
  size_t nodes;
  for (float &each : h) each = 1;
  OK(cudaMalloc(&x, sizeof h));
  OK(cudaMalloc(&y, sizeof h));
  OK(cudaStreamCreate(&s));
  OK(cudaStreamCreate(&other));
  OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  FAILS(cudaErrorIllegalState, cudaStreamEndCapture(s, &graph));
  FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpyAsync(x, h, sizeof h, cudaMemcpyHostToDevice, s));
  OK(cudaEventRecord(fork, s));
  OK(cudaStreamWaitEvent(other, fork, 0));  // the other stream joins
  OK(cudaMemsetAsync(y, 0, sizeof h, other));
  add<<<1, 64, 0, other>>>(y, x, y, 64);
  OK(cudaEventRecord(join, other));
  OK(cudaStreamIsCapturing(other, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  FAILS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
  OK(cudaStreamWaitEvent(s, join, 0));
  add<<<1, 64, 0, s>>>(x, y, x, 64);
  OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, s));
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  OK(cudaGraphDestroy(graph));
  EXPECT(nodes == 5 && h[63] == 1);  // nothing has run
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(ready, s));
  OK(cudaStreamSynchronize(s));
  EXPECT(h[0] == 8 && h[63] == 8);
  OK(cudaGraphExecDestroy(ready));
  FAILS(cudaErrorInvalidValue, cudaGraphLaunch(ready, s));
  OK(cudaFree(x));
  OK(cudaFree(y));
}

static void tensor_maps() {
  void *x, *entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  OK(cudaMalloc(&x, 1 << 14));
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess && entry);
  CUtensorMap map;
  cuuint64_t sizes[] = {64, 64}, strides[] = {128};
  cuuint32_t box[] = {64, 8}, steps[] = {1, 1};
  auto encode = [&](int swizzle) {
    return ((decltype(&cuTensorMapEncodeTiled))entry)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, x, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        (CUtensorMapSwizzle)swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT(encode(CU_TENSOR_MAP_SWIZZLE_128B) == CUDA_SUCCESS);
  EXPECT(encode(CU_TENSOR_MAP_SWIZZLE_64B) == CUDA_ERROR_INVALID_VALUE);  // the box is wider than that
  OK(cudaGetDriverEntryPointByVersion("cuMemsetD32Async", &entry, 12000, cudaEnableDefault, &found));
  EXPECT(((decltype(&cuMemsetD32Async))entry)((CUdeviceptr)x, 77, 4, 0) == CUDA_SUCCESS);
  unsigned words[5] = {};
  OK(cudaMemcpy(words, x, 16, cudaMemcpyDeviceToHost));
  EXPECT(words[0] == 77 && words[3] == 77);
  EXPECT(((decltype(&cuMemsetD32Async))entry)((CUdeviceptr)words, 1, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  const char *text = nullptr;
  OK(cudaGetDriverEntryPointByVersion("cuGetErrorString", &entry, 12000, cudaEnableDefault, &found));
  EXPECT(((decltype(&cuGetErrorString))entry)(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS && !strcmp(text, "invalid argument"));
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSymbolNotFound && !entry);
}

static void heap() {
  size_t size = 0;
  int *given, count = 0;
  OK(cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize));
  EXPECT(size == 8 << 20);
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  OK(cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize));
  EXPECT(size == 64 << 20);
  OK(cudaMalloc(&given, 4));
  OK(cudaMemset(given, 0, 4));
  half_a_mebibyte_each<<<1, 100>>>(given);
  OK(cudaMemcpy(&count, given, 4, cudaMemcpyDeviceToHost));
  EXPECT(count == 100);
  FAILS(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));  // there is one by now
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  OK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  EXPECT(size == 4096);
  OK(cudaFree(given));
}

int main(int argc, char **argv) {
  int *x;
  if (argc > 1) {
    OK(cudaMalloc(&x, 64));
    if (!strcmp(argv[1], "host")) return *x;  // the host follows a device pointer
    beyond<<<1, 32>>>(x);
    FAILS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT(cudaMalloc(&x, 4) == cudaErrorIllegalAddress);  // it stays
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return failures ? 9 : 5;
  }
  memory();
  launches();
  device();
  streams();
  graphs();
  tensor_maps();
  heap();
  printf("%s\n", failures ? "failed" : "done");
  return failures ? 1 : 3;
}
