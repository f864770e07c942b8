// Graphs by the functions whose parameters CUDA 13 has changed, as a program calls them that was built with CUDA 12. Needs no compiler of
// CUDA's; with -DHEADERS and the include folder of CUDA 12 its declarations are CUDA's own.
#include "expect.h"

#ifdef HEADERS
#include <cuda_runtime_api.h>
static_assert(CUDART_VERSION / 1000 == 12, "");
#else
#include <cstddef>
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2 };
enum cudaGraphNodeType { cudaGraphNodeTypeMemset = 2, cudaGraphNodeTypeHost = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusActive = 1 };
typedef struct graph *cudaGraph_t;
typedef struct node *cudaGraphNode_t;
typedef struct executable *cudaGraphExec_t;
typedef struct stream *cudaStream_t;
struct cudaMemsetParams {
  void *dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
struct cudaHostNodeParams {
  void (*fn)(void *);
  void *userData;
};
struct cudaGraphNodeParams {
  cudaGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    cudaMemsetParams memset;
    cudaHostNodeParams host;
  };
  long long reserved2;
};
extern "C" {
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t);
cudaError_t cudaGetLastError();
cudaError_t cudaGraphCreate(cudaGraph_t *, unsigned);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, cudaGraphNodeParams *);
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t);
cudaError_t cudaGraphGetEdges(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t *, size_t *);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t, cudaGraphNode_t *, size_t *);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t *);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, cudaStreamCaptureStatus *, unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **, size_t *);
}
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2
#endif

static int *x, seen[4];
static void look(void *) { cudaMemcpy(seen, x, sizeof seen, cudaMemcpyDeviceToHost); }

int main() {
  cudaGraph_t graph, captured;
  cudaGraphNode_t fill, again, call, from[4] = {}, to[4] = {};
  OK(cudaMalloc((void **)&x, sizeof seen));
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeMemset;
  p.memset.dst = x, p.memset.value = 7, p.memset.elementSize = 4, p.memset.width = 4, p.memset.height = 1;
  OK(cudaGraphAddNode(&fill, graph, nullptr, 0, &p));
  p.memset.value = 9;
  OK(cudaGraphAddNode(&again, graph, &fill, 1, &p));
  p = {};
  p.type = cudaGraphNodeTypeHost, p.host.fn = look;
  OK(cudaGraphAddNode(&call, graph, nullptr, 0, &p));
  OK(cudaGraphAddDependencies(graph, &again, &call, 1));
  FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &call, &fill, 1));  // a cycle

  size_t n = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, &n));
  EXPECT(n == 2);
  n = 4;
  OK(cudaGraphGetEdges(graph, from, to, &n));
  EXPECT(n == 2 && from[0] == fill && to[0] == again && from[1] == again && to[1] == call && !from[2] && !to[3]);
  n = 4;
  OK(cudaGraphNodeGetDependencies(call, from, &n));
  EXPECT(n == 1 && from[0] == again && !from[1]);
  n = 0;
  OK(cudaGraphNodeGetDependentNodes(fill, nullptr, &n));
  EXPECT(n == 1);
  OK(cudaGraphRemoveDependencies(graph, &fill, &again, 1));
  n = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, &n));
  EXPECT(n == 1);
  OK(cudaGraphAddDependencies(graph, &fill, &again, 1));

  cudaGraphExec_t ready;
  OK(cudaGraphInstantiate(&ready, graph, 0));
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(seen[0] == 9 && seen[3] == 9);

  cudaStream_t stream;
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  const cudaGraphNode_t *ends = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(x, 0, sizeof seen, stream));
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &ends, &n));
  EXPECT(status == cudaStreamCaptureStatusActive && id && graph && n == 1 && ends && ends[0]);
  OK(cudaStreamEndCapture(stream, &captured));
  EXPECT(captured == graph);
  printf("done\n");
  return failures;
}
