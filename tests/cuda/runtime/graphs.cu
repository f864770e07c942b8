// Graphs that are built of nodes, and what is asked of captured ones; prints the checks that failed, and "done".
#include <cstdio>
#include <cstring>

#include "expect.h"

constexpr int N = 64;
__device__ int offsets[N];

__global__ void scale(int *x, int by) { x[threadIdx.x] *= by; }
__global__ void add(int *x, const int *y) { x[threadIdx.x] += y[threadIdx.x]; }
__global__ void add_offsets(int *x) { x[threadIdx.x] += offsets[threadIdx.x]; }

static void count(void *calls) { ++*(int *)calls; }

static cudaKernelNodeParams scaling(int **x, int *by, void **args) {
  args[0] = x, args[1] = by;
  cudaKernelNodeParams p = {};
  p.func = (void *)scale, p.gridDim = dim3(1), p.blockDim = dim3(N), p.kernelParams = args;
  return p;
}

static void built_of_nodes() {
  int *x, *y, h[N], out[N] = {}, by = 3, calls = 0;
  for (int i = 0; i < N; ++i) h[i] = i;
  OK(cudaMalloc(&x, sizeof h));
  OK(cudaMalloc(&y, sizeof h));
  cudaGraph_t graph;
  cudaGraphNode_t in, zero, one, two, sum, symbol, last, host, up, again;
  OK(cudaGraphCreate(&graph, 0));
  // The sum is made first: it waits for what dependencies say that are added later.
  void *sums[] = {&y, &x}, *args[2], *offset[] = {&y};
  cudaKernelNodeParams p = {};
  p.func = (void *)add, p.gridDim = dim3(1), p.blockDim = dim3(N), p.kernelParams = sums;
  OK(cudaGraphAddKernelNode(&sum, graph, nullptr, 0, &p));
  OK(cudaGraphAddMemcpyNode1D(&in, graph, nullptr, 0, x, h, sizeof h, cudaMemcpyHostToDevice));
  cudaMemsetParams fill = {};
  fill.dst = y, fill.value = 7, fill.elementSize = 4, fill.width = N, fill.height = 1;
  OK(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &fill));
  p = scaling(&x, &by, args);
  OK(cudaGraphAddKernelNode(&one, graph, &in, 1, &p));
  by = 100;  // arguments were read when the node was made
  cudaGraphNode_t from[] = {one, zero}, to[] = {sum, sum};
  OK(cudaGraphAddDependencies(graph, from, to, nullptr, 2));
  OK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, &one, 1, offsets, x, sizeof h, 0, cudaMemcpyDeviceToDevice));
  p.func = (void *)add_offsets, p.kernelParams = offset;
  cudaGraphNode_t both[] = {sum, symbol};
  OK(cudaGraphAddKernelNode(&two, graph, both, 2, &p));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(y, sizeof h, N, 1), copy.dstPtr = make_cudaPitchedPtr(out, sizeof h, N, 1);
  copy.extent = make_cudaExtent(sizeof h, 1, 1), copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaGraphAddMemcpyNode(&last, graph, &two, 1, &copy));
  cudaHostNodeParams call = {count, &calls};
  OK(cudaGraphAddHostNode(&host, graph, &last, 1, &call));

  size_t n = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &n));
  EXPECT(n == 8);
  OK(cudaGraphGetRootNodes(graph, nullptr, &n));
  EXPECT(n == 2);
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &n));
  EXPECT(n == 8);
  cudaGraphNode_t found[4];
  n = 4;
  OK(cudaGraphNodeGetDependencies(sum, found, nullptr, &n));
  EXPECT(n == 2 && found[0] != found[1] && !found[2]);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(zero, &type));
  EXPECT(type == cudaGraphNodeTypeMemset);
  FAILS(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &host, &in, nullptr, 1));  // a cycle

  cudaGraphExec_t ready;
  OK(cudaGraphInstantiate(&ready, graph, 0));
  EXPECT(out[1] == 0);
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(out[5] == 7 + 2 * 3 * 5 && out[63] == 7 + 2 * 3 * 63 && calls == 1);

  // What is executed takes other parameters without another graph.
  by = 2;
  p = scaling(&x, &by, args);
  OK(cudaGraphExecKernelNodeSetParams(ready, one, &p));
  fill.value = 1;
  OK(cudaGraphExecMemsetNodeSetParams(ready, zero, &fill));
  OK(cudaGraphNodeSetEnabled(ready, symbol, 0));
  FAILS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(ready, host, 0));
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(out[5] == 1 + 2 * 5 + 3 * 5 && calls == 2);
  OK(cudaGraphNodeSetEnabled(ready, symbol, 1));
  OK(cudaGraphKernelNodeGetParams(one, &p));
  EXPECT(p.func == (void *)scale && p.blockDim.x == N && *(int *)p.kernelParams[1] == 3);  // the graph's own

  // A graph of the same shape takes its place.
  cudaGraph_t copy_of;
  OK(cudaGraphClone(&copy_of, graph));
  OK(cudaGraphNodeFindInClone(&again, one, copy_of));
  by = 5;
  p = scaling(&x, &by, args);
  OK(cudaGraphKernelNodeSetParams(again, &p));
  cudaGraphExecUpdateResultInfo result;
  OK(cudaGraphExecUpdate(ready, copy_of, &result));
  EXPECT(result.result == cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(out[5] == 7 + 2 * 5 * 5 && calls == 3);
  OK(cudaGraphDestroyNode(again));
  FAILS(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(ready, copy_of, &result));
  EXPECT(result.result == cudaGraphExecUpdateErrorTopologyChanged);

  // A graph in a graph.
  cudaGraph_t outer;
  cudaGraphNode_t child, end;
  cudaEvent_t before, after;
  float milliseconds = 0;
  OK(cudaEventCreate(&before));
  OK(cudaEventCreate(&after));
  OK(cudaGraphCreate(&outer, 0));
  OK(cudaGraphAddEventRecordNode(&up, outer, nullptr, 0, before));
  OK(cudaGraphAddChildGraphNode(&child, outer, &up, 1, graph));
  OK(cudaGraphAddEventRecordNode(&end, outer, &child, 1, after));
  OK(cudaGraphExecDestroy(ready));
  // The node has a copy of it, and changes of the copy are changes of the node, until that is made executable.
  cudaGraph_t inner, other;
  OK(cudaGraphChildGraphNodeGetGraph(child, &inner));
  EXPECT(inner != graph);
  size_t some = 0, all = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &all));
  OK(cudaGraphGetNodes(inner, nullptr, &some));
  EXPECT(some == all);
  FAILS(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&again, host, graph));
  OK(cudaGraphNodeFindInClone(&again, host, inner));
  EXPECT(again != host);
  OK(cudaGraphInstantiate(&ready, outer, 0));
  OK(cudaGraphClone(&other, outer));
  OK(cudaGraphDestroyNode(again));
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(calls == 4);
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphInstantiate(&ready, outer, 0));
  OK(cudaGraphLaunch(ready, 0));
  EXPECT(calls == 4);
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphNodeFindInClone(&again, child, other));
  OK(cudaGraphDestroy(outer));
  FAILS(cudaErrorInvalidValue, cudaGraphGetNodes(inner, nullptr, &some));
  OK(cudaGraphChildGraphNodeGetGraph(again, &inner));
  OK(cudaGraphGetNodes(inner, nullptr, &some));
  EXPECT(some == all);
  outer = other;
  OK(cudaGraphInstantiateWithFlags(&ready, outer, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphLaunch(ready, 0));
  OK(cudaEventElapsedTime(&milliseconds, before, after));
  EXPECT(calls == 5 && out[5] == 7 + 2 * 3 * 5 && milliseconds > 0);
  FAILS(cudaErrorInvalidValue, cudaGraphNodeGetType(one, &type));  // its graph is gone
}

static void of_one_kind_of_parameters() {
  int *x, out[N] = {}, by = 3;
  void *args[2];
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t allocated, filled, scaled, copied, freed;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams p = {cudaGraphNodeTypeMemAlloc};
  p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
  p.alloc.bytesize = sizeof out;
  OK(cudaGraphAddNode(&allocated, graph, nullptr, nullptr, 0, &p));
  x = (int *)p.alloc.dptr;
  p = {cudaGraphNodeTypeMemset};
  p.memset.dst = x, p.memset.value = 1, p.memset.elementSize = 1, p.memset.width = sizeof out, p.memset.height = 1;
  OK(cudaGraphAddNode(&filled, graph, &allocated, nullptr, 1, &p));
  p = {cudaGraphNodeTypeKernel};
  args[0] = &x, args[1] = &by;
  p.kernel.func = (void *)scale, p.kernel.gridDim = dim3(1), p.kernel.blockDim = dim3(N), p.kernel.kernelParams = args;
  OK(cudaGraphAddNode(&scaled, graph, &filled, nullptr, 1, &p));
  p = {cudaGraphNodeTypeMemcpy};
  p.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(x, sizeof out, N, 1);
  p.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(out, sizeof out, N, 1);
  p.memcpy.copyParams.extent = make_cudaExtent(sizeof out, 1, 1);
  p.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  OK(cudaGraphAddNode(&copied, graph, &scaled, nullptr, 1, &p));
  p = {cudaGraphNodeTypeMemFree};
  p.free.dptr = x;
  OK(cudaGraphAddNode(&freed, graph, &copied, nullptr, 1, &p));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(ready, 0));
  EXPECT(out[N - 1] == 0x03030303);
  p = {cudaGraphNodeTypeConditional};
  FAILS(cudaErrorNotSupported, cudaGraphAddNode(&allocated, graph, nullptr, nullptr, 0, &p));
}

static void captured() {
  int *x, h[N] = {}, by = 2;
  void *args[2];
  cudaStream_t s, other;
  cudaEvent_t fork;
  cudaGraph_t graph, building;
  cudaGraphExec_t ready;
  cudaStreamCaptureStatus status;
  unsigned long long id;
  size_t n;
  OK(cudaStreamCreate(&s));
  OK(cudaStreamCreate(&other));
  OK(cudaEventCreate(&fork));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  OK(cudaMallocAsync((void **)&x, sizeof h, s));
  OK(cudaMemsetAsync(x, 1, sizeof h, s));
  scale<<<1, N, 0, s>>>(x, 3);
  OK(cudaStreamGetCaptureInfo(s, &status, &id, &building, nullptr, nullptr, nullptr));
  EXPECT(status == cudaStreamCaptureStatusActive);
  OK(cudaGraphGetNodes(building, nullptr, &n));
  EXPECT(n == 3);
  OK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, s));
  OK(cudaFreeAsync(x, s));
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(ready, s));
  EXPECT(h[0] == 0x03030303);
  cudaGraphNode_t nodes[8] = {};
  n = 8;
  OK(cudaGraphGetNodes(graph, nodes, &n));
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  int kernel = 0;
  while (kernel < 4 && cudaGraphNodeGetType(nodes[kernel], &type) == cudaSuccess && type != cudaGraphNodeTypeKernel) ++kernel;
  EXPECT(n == 5 && kernel == 2);
  cudaKernelNodeParams p;
  OK(cudaGraphKernelNodeGetParams(nodes[kernel], &p));
  EXPECT(p.func == (void *)scale && *(int **)p.kernelParams[0] == x);
  args[0] = p.kernelParams[0], args[1] = &by, p.kernelParams = args;
  OK(cudaGraphExecKernelNodeSetParams(ready, nodes[kernel], &p));
  OK(cudaGraphLaunch(ready, s));
  EXPECT(h[0] == 0x02020202);

  // Into a graph that there is.
  OK(cudaMalloc(&x, sizeof h));
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t first;
  OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  OK(cudaStreamBeginCaptureToGraph(s, graph, &first, nullptr, 1, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(x, 0, sizeof h, s));
  OK(cudaStreamEndCapture(s, &building));
  EXPECT(building == graph);
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &n));
  EXPECT(n == 1);

  // A stream that has joined and is not waited for.
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(fork, s));
  OK(cudaStreamWaitEvent(other, fork, 0));
  scale<<<1, N, 0, other>>>(x, 3);
  FAILS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(s, &building));
}

void destroy(void *destroyed) { ++*(int *)destroyed; }

// What graphs keep: by the program's references, by a graph's, by those of what is made of it.
void kept() {
  int destroyed = 0;
  cudaUserObject_t object;
  cudaGraph_t graph, copy;
  cudaGraphExec_t ready;
  cudaGraphNode_t node;
  FAILS(cudaErrorInvalidValue, cudaUserObjectCreate(&object, &destroyed, destroy, 1, 0));
  OK(cudaUserObjectCreate(&object, &destroyed, destroy, 1, cudaUserObjectNoDestructorSync));
  OK(cudaUserObjectRetain(object, 1));
  OK(cudaUserObjectRelease(object, 2));
  EXPECT(destroyed == 1);
  FAILS(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));

  OK(cudaUserObjectCreate(&object, &destroyed, destroy, 1, cudaUserObjectNoDestructorSync));
  OK(cudaGraphCreate(&graph, 0));
  FAILS(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, object, 2, cudaGraphUserObjectMove));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  FAILS(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
  OK(cudaGraphCreate(&copy, 0));
  OK(cudaGraphAddChildGraphNode(&node, copy, nullptr, 0, graph));
  OK(cudaGraphInstantiate(&ready, copy, 0));
  OK(cudaGraphDebugDotPrint(copy, "/dev/null", 0));
  FAILS(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(copy, "/dev/null/graph.dot", 0));
  FAILS(cudaErrorInvalidValue, cudaGraphReleaseUserObject(graph, object, 2));
  OK(cudaGraphReleaseUserObject(graph, object, 1));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(copy));
  EXPECT(destroyed == 1);
  OK(cudaGraphLaunch(ready, 0));
  OK(cudaGraphExecDestroy(ready));
  EXPECT(destroyed == 2);
}

int main() {
  built_of_nodes();
  kept();
  of_one_kind_of_parameters();
  captured();
  printf("%s\n", failures ? "failed" : "done");
  return failures ? 1 : 3;
}
