// Calls that fail: CUDA gives an error, which this program hardly looks at, and ptxsim says what is wrong.
#include <cuda_runtime.h>

int main() {
  int *x, *pinned, host[50] = {};
  cudaMalloc(&x, 100);
  cudaMemcpy(x, host, 200, cudaMemcpyHostToDevice);
  cudaMemcpy(host, x, 100, cudaMemcpyHostToDevice);
  cudaFree(x);
  cudaFree(x);
  cudaFree(host);
  cudaMallocHost(&pinned, 64);
  cudaFree(pinned);
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventDestroy(event);
  cudaEventRecord(event, 0);
  cudaEventRecord(event, 0);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, nullptr); // a question
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphConditionalHandle handle;
  return cudaGraphConditionalHandleCreate(&handle, graph, 1, 0) == cudaErrorNotSupported ? 0 : 1;
}
