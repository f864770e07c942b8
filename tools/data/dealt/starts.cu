// When CTAs and their warps begin, and where: each spins so many cycles.
typedef unsigned u32;
extern __shared__ u32 dynamic[];
template <int REGISTERS> __device__ void body(u32 *out, int cycles) {
    u32 begin = clock();
    u32 end = begin;
    do end = clock(); while (end - begin < (u32)cycles);
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    u32 w = threadIdx.x / 32, last = blockDim.x / 32 - 1;
    if (threadIdx.x % 32 == 0 && (w == 0 || w == last)) {
        u32 *o = out + blockIdx.x * 6;
        if (w == 0) o[0] = sm, o[1] = begin, o[2] = end;
        if (w == last) o[3] = sm, o[4] = begin, o[5] = end;
    }
}
extern "C" __global__ void __launch_bounds__(1024) starts(u32 *out, int cycles) { body<0>(out, cycles); }
extern "C" __global__ void __launch_bounds__(256) starts64(u32 *out, int cycles, int n) {
    body<64>(out, cycles);
    // registers that are never used at run time
    if (n > 0) {
        u32 v[56];
        for (int i = 0; i < 56; i++) v[i] = out[i * n + threadIdx.x];
        for (int j = 0; j < n; j++) for (int i = 0; i < 56; i++) v[i] = v[i] * v[(i + 7) % 56] + j;
        for (int i = 0; i < 56; i++) out[i * n + threadIdx.x] = v[i];
    }
}
// The same with nothing recorded: a store a CTA at its end.
extern "C" __global__ void plain(u32 *out, int cycles) {
    u32 begin = clock();
    while ((u32)clock() - begin < (u32)cycles);
    if (begin == 12345678) out[0] = begin;
}
// Remote accesses: how long each cluster takes, and where.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <int C, int WHAT> __device__ void remote(u32 *out, int turns) {
    __shared__ u32 t[1024];
    auto cl = cg::this_cluster();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) t[i] = i;
    cl.sync();
    u32 r = cl.block_rank(), h = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u, s = 0;
    u32 begin = clock();
    for (int i = 0; i < turns; i++) {
        u32 to = (h >> 28) % C; u32 *p = cl.map_shared_rank(t + (h & 1023), to);
        if (WHAT == 0) atomicAdd(p, 1u);
        if (WHAT == 1) s += *(volatile u32 *)p;
        if (WHAT == 2) *(volatile u32 *)p = h;
        if (WHAT == 3) { u32 *q = cl.map_shared_rank(t + ((threadIdx.x + i * 32) & 1023), (r + 1) % C); s += *(volatile u32 *)q; }
        if (WHAT == 4) { u32 *q = cl.map_shared_rank(t + ((threadIdx.x + i * 32) & 1023), (r + 1) % C); *(volatile u32 *)q = i; }
        h = h * 1664525u + 1013904223u; h ^= h >> 15;
    }
    u32 mid = clock();
    cl.sync();
    u32 end = clock(), sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) { u32 *o = out + blockIdx.x * 6; o[0] = sm, o[1] = begin, o[2] = mid, o[3] = end, o[4] = r, o[5] = s == 1 ? 1 : 0; }
}
#define R(C, W) extern "C" __global__ void __cluster_dims__(C, 1, 1) remote_##C##_##W(u32 *out, int turns) { remote<C, W>(out, turns); }
R(2, 0) R(2, 1) R(2, 2) R(2, 3) R(2, 4) R(4, 0) R(4, 1) R(4, 2) R(4, 3) R(4, 4) R(8, 0) R(8, 1) R(8, 2) R(8, 3) R(8, 4)
#define S(C) extern "C" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(1024) starts_c##C(u32 *out, int cycles) { body<0>(out, cycles); }
S(2) S(4) S(8)
