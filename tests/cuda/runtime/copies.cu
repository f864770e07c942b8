// Pitched and three-dimensional copies, copies in streams that wait for each other's events, calls of the host. Prints the checks that failed, and "done".
#include <cstdio>
#include <cstring>
#include <vector>

#include "expect.h"
__global__ void add3(cudaPitchedPtr p, cudaExtent e, int by) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  if (x < (int)(e.width / 4)) ((int *)((char *)p.ptr + (z * e.height + y) * p.pitch))[x] += by;
}
__global__ void scale(float *p, size_t pitch, int w, int h, float f) {
  for (int r = blockIdx.x; r < h; r += gridDim.x)
    for (int c = threadIdx.x; c < w; c += blockDim.x) ((float *)((char *)p + r * pitch))[c] *= f;
}
static void bump(void *p) { ++*(int *)p; }
static void CUDART_CB called(cudaStream_t, cudaError_t s, void *p) { *(int *)p += s == cudaSuccess ? 10 : 1000; }
int main() {
  const int W = 37, H = 11, D = 5;
  std::vector<int> host(W * H * D), back(W * H * D, -1);
  for (size_t i = 0; i < host.size(); i++) host[i] = i;
  cudaExtent extent = make_cudaExtent(W * 4, H, D);
  cudaPitchedPtr dev; OK(cudaMalloc3D(&dev, extent));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(host.data(), W * 4, W, H); p.dstPtr = dev; p.extent = extent; p.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&p));
  add3<<<dim3(H, D), 64>>>(dev, extent, 7);
  cudaMemcpy3DParms q = {};
  q.srcPtr = dev; q.dstPtr = make_cudaPitchedPtr(back.data(), W * 4, W, H); q.extent = extent; q.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3DAsync(&q)); OK(cudaDeviceSynchronize());
  int bad = 0; for (size_t i = 0; i < host.size(); i++) bad += back[i] != host[i] + 7;
  // a part of it
  std::vector<int> part(3 * 2 * 2, -1);
  cudaMemcpy3DParms r = {};
  r.srcPtr = dev; r.srcPos = make_cudaPos(4 * 4, 3, 2); r.dstPtr = make_cudaPitchedPtr(part.data(), 12, 3, 2);
  r.extent = make_cudaExtent(12, 2, 2); r.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&r));
  for (int z = 0; z < 2; z++) for (int y = 0; y < 2; y++) for (int x = 0; x < 3; x++)
    bad += part[(z * 2 + y) * 3 + x] != ((z + 2) * H + y + 3) * W + x + 4 + 7;
  EXPECT(!bad);
  float *m; size_t pitch; OK(cudaMallocPitch(&m, &pitch, W * 4, H)); EXPECT(pitch >= W * 4 && pitch % 32 == 0);
  std::vector<float> f(W * H, 2), g(W * H);
  int least, greatest; OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t s, t; OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest)); OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t begin, ready, end; OK(cudaEventCreate(&begin)); OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming)); OK(cudaEventCreate(&end));
  int count = 0;
  OK(cudaEventRecord(begin, s));
  OK(cudaMemcpy2DAsync(m, pitch, f.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice, s));
  scale<<<4, 32, 0, s>>>(m, pitch, W, H, 3);
  OK(cudaLaunchHostFunc(s, bump, &count)); OK(cudaStreamAddCallback(s, called, &count, 0));
  OK(cudaEventRecord(ready, s)); OK(cudaStreamWaitEvent(t, ready, 0));
  scale<<<4, 32, 0, t>>>(m, pitch, W, H, 0.5f);
  OK(cudaMemcpy2DAsync(g.data(), W * 4, m, pitch, W * 4, H, cudaMemcpyDeviceToHost, t));
  OK(cudaEventRecord(end, t)); OK(cudaStreamSynchronize(t)); OK(cudaEventSynchronize(end));
  float ms = -1; OK(cudaEventElapsedTime(&ms, begin, end));
  bad = 0; for (float v : g) bad += v != 3;
  EXPECT(!bad && count == 11 && ms > 0 && cudaStreamQuery(t) == cudaSuccess);
  OK(cudaMemset2D(m, pitch, 0, W * 4, H)); OK(cudaMemcpy2D(g.data(), W * 4, m, pitch, W * 4, H, cudaMemcpyDefault));
  bad = 0; for (float v : g) bad += v != 0; EXPECT(!bad);
  FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, ready, end));
  cudaPointerAttributes a; OK(cudaPointerGetAttributes(&a, m)); EXPECT(a.type == cudaMemoryTypeDevice);
  OK(cudaPointerGetAttributes(&a, host.data())); EXPECT(a.type == cudaMemoryTypeUnregistered);
  OK(cudaFree(m)); OK(cudaFree(dev.ptr)); OK(cudaStreamDestroy(s)); OK(cudaStreamDestroy(t)); puts("done");
  return failures;
}
