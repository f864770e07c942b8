// A search that never meets its leaf calls itself until the stack is full.
// finding: stack-overflow at 10
#include <cuda_runtime.h>

struct Node { int left, right, key; };

__device__ int find(const Node* nodes, int at, int key) {
  if (nodes[at].key == key) return at;
  int next = key < nodes[at].key ? nodes[at].left : nodes[at].right;
  return 1 + find(nodes, next, key);
}

__global__ void search(const Node* nodes, int* found) { found[threadIdx.x] = find(nodes, 0, threadIdx.x); }

int main() {
  Node* nodes;
  int* found;
  if (cudaMallocManaged(&nodes, 3 * sizeof(Node)) || cudaMallocManaged(&found, 32 * sizeof(int))) return 2;
  nodes[0] = {1, 2, 16};
  nodes[1] = {0, 0, 8};  // leaves that lead back to the root
  nodes[2] = {0, 0, 24};
  search<<<1, 32>>>(nodes, found);
  return cudaDeviceSynchronize() == cudaSuccess;
}
