// What host and device share: pools, memory of the host that is registered, captures that something ends, clusters of more than eight blocks.
#include "expect.h"

__global__ void add(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += i;
}
__global__ void nothing() {}

static void pools() {
  cudaMemPool_t first, pool, current;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolCreate(&pool, &properties));
  OK(cudaDeviceGetDefaultMemPool(&first, 0));
  OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(first == current && first != pool);
  struct { int value, beside; } reuse = {0, 77};
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse.value));
  EXPECT(reuse.value == 1 && reuse.beside == 77);  // an int, not eight bytes
  unsigned long long threshold = ~0ull, found = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &found));
  EXPECT(found == threshold);
  void *a, *b;
  OK(cudaMallocFromPoolAsync(&a, 1000, pool, 0));
  OK(cudaMallocAsync(&b, 500, 0));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &found));
  EXPECT(found == 1000);
  OK(cudaFreeAsync(a, 0));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &found));
  EXPECT(found == 0);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &found));
  EXPECT(found == 1000);
  found = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &found));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &found));
  EXPECT(found == 0);
  OK(cudaMemPoolGetAttribute(first, cudaMemPoolAttrUsedMemCurrent, &found));
  EXPECT(found == 500);
  OK(cudaDeviceSetMemPool(0, pool));
  OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(current == pool);
  OK(cudaMemPoolDestroy(pool));
  OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(current == first);
  FAILS(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&a, 1000, pool, 0));
  OK(cudaFreeAsync(b, 0));
}

static void registered() {
  const int n = 3000;
  int *host = new int[n + 1], *device = nullptr;
  for (int i = 0; i <= n; i++) host[i] = 5;
  FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(host));
  FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, host, 0));
  OK(cudaHostRegister(host, n * sizeof *host, cudaHostRegisterMapped));
  FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(host, n * sizeof *host, 0));
  OK(cudaHostGetDevicePointer(&device, host + 1, 0));
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, host + 1));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == device && attributes.hostPointer == host + 1);
  host[1] = 6;  // seen by the kernel
  add<<<12, 256>>>(device, n - 1);
  OK(cudaDeviceSynchronize());
  EXPECT(host[0] == 5 && host[1] == 6 && host[2] == 6 && host[n - 1] == 5 + n - 2 && host[n] == 5);
  int copy[4];
  OK(cudaMemcpy(copy, device, sizeof copy, cudaMemcpyDeviceToHost));
  EXPECT(copy[3] == 8);
  OK(cudaHostUnregister(host));
  EXPECT(host[3] == 7 && host[n] == 5);
  FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, host, 0));
  delete[] host;
}

static void captures() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaStreamCaptureStatus status;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  nothing<<<1, 1, 0, stream>>>();
  FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusInvalidated);
  nothing<<<1, 1, 0, stream>>>();
  EXPECT(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
  FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusNone && !graph);
}

static void clusters() {
  cudaLaunchConfig_t configuration = {};
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {16, 1, 1};
  configuration.gridDim = 16, configuration.blockDim = 32, configuration.attrs = &cluster, configuration.numAttrs = 1;
  FAILS(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&configuration, nothing));
  OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(cudaLaunchKernelEx(&configuration, nothing));
}

int main() {
  pools();
  registered();
  captures();
  clusters();
  printf("%s\n", failures ? "failed" : "done");
  return failures ? 1 : 3;
}
