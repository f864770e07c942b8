// Launches of one mechanism each, measured as tools/data/README.md says of `contended`: atomics of several SMs on the same words, CTAs that are dealt out.
#include <cstdint>
#define K extern "C" __global__ void
typedef unsigned u32;
typedef unsigned long long u64;
__device__ u32 mix(u32 h) { h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; return h ^ h >> 16; }

// Each CTA adds to as many words as it has threads a turn, `apart` words from each other; `share` CTAs that follow each other (or, below 0, that have
// the same number modulo -share) have the same words.
template <class T> __device__ void red_words(T *p, int turns, int share, int apart) {
    int group = share > 0 ? blockIdx.x / share : blockIdx.x % -share;
    p += (size_t)group * turns * blockDim.x * apart + threadIdx.x * apart;
    for (int i = 0; i < turns; i++, p += blockDim.x * apart) atomicAdd(p, (T)1);
}
K red_u32(u32 *p, int turns, int share, int apart) { red_words(p, turns, share, apart); }
K red_f32(float *p, int turns, int share, int apart) { red_words(p, turns, share, apart); }
// The same with what the loads before it bring, as a product's epilogue has it: nothing but atomics at the end of a loop of loads.
K red_f32_again(float *p, int turns, int share, int words) {
    int group = share > 0 ? blockIdx.x / share : blockIdx.x % -share;
    p += (size_t)group * words + threadIdx.x;
    for (int i = 0; i < turns; i++) for (int j = 0; j < words; j += blockDim.x) atomicAdd(p + j, 1.f);
}
K red_random_u32(u32 *p, int turns, u32 mask) {
    u32 h = mix(blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int i = 0; i < turns; i++) { atomicAdd(p + (h & mask), 1u); h = h * 1664525u + 1013904223u; h ^= h >> 15; }
}
K red_random_f32(float *p, int turns, u32 mask) {
    u32 h = mix(blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int i = 0; i < turns; i++) { atomicAdd(p + (h & mask), 1.f); h = h * 1664525u + 1013904223u; h ^= h >> 15; }
}
K or_random(u32 *p, int turns, u32 mask) {
    u32 h = mix(blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int i = 0; i < turns; i++) { atomicOr(p + (h >> 5 & mask), 1u << (h & 31)); h = h * 1664525u + 1013904223u; h ^= h >> 15; }
}
K atom_random(u32 *p, u32 *out, int turns, u32 mask) {
    u32 h = mix(blockIdx.x * blockDim.x + threadIdx.x + 1), s = 0;
    for (int i = 0; i < turns; i++) { s += atomicAdd(p + (h & mask), 1u); h = h * 1664525u + 1013904223u; h ^= h >> 15; }
    if (s == 0x12345678) out[threadIdx.x] = s;
}
// CTAs that take so long, read so many times, copy so many: as many as there are.
K deal_spin(u32 *out, int cycles) {
    u32 t = clock();
    while ((u32)clock() - t < (u32)cycles);
    if (t == 1) out[0] = t;
}
K deal_read(const float4 *x, float *out, int each) {
    const float4 *p = x + (size_t)blockIdx.x * blockDim.x * each + threadIdx.x;
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < each; i++) { float4 v = p[i * blockDim.x]; s += v.x + v.y + v.z + v.w; }
    if (s == 1.2345f) out[0] = s;
}
K deal_copy(const float4 *x, float4 *y, int each) {
    size_t at = (size_t)blockIdx.x * blockDim.x * each + threadIdx.x;
#pragma unroll 4
    for (int i = 0; i < each; i++) y[at + i * blockDim.x] = x[at + i * blockDim.x];
}
// One word a thread, read by steps that depend on each other: L2 by way of random places.
K deal_chase(const u32 *x, u32 *out, int steps, u32 mask) {
    u32 h = mix(blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int i = 0; i < steps; i++) h = mix(h + x[h & mask]);
    if (h == 0x12345678) out[0] = h;
}
// Which SM each CTA is on, when it begins and ends there.
K deal_where(const float4 *x, float4 *y, u64 *out, int each, int cycles) {
    u64 begin = clock64();
    size_t at = (size_t)blockIdx.x * blockDim.x * each + threadIdx.x;
    for (int i = 0; i < each; i++) y[at + i * blockDim.x] = x[at + i * blockDim.x];
    while (clock64() - begin < (u64)cycles);
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 sm; u64 ns;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
        out[blockIdx.x * 4] = sm, out[blockIdx.x * 4 + 1] = begin, out[blockIdx.x * 4 + 2] = clock64(), out[blockIdx.x * 4 + 3] = ns;
    }
}
// Barriers of a cluster after what a CTA has done. WHAT: 1 a load of 16 bytes, 2 a store of 16 bytes, 4 and 8 stores of 16 and 4 bytes to the next CTA's
// memory, 16 one to the own, 32 a load of 16 bytes from the next CTA's; 64: a barrier between those to memory of the cluster and the store.
template <int WHAT> __device__ void cluster_turns(const float4 *a, float4 *o, int turns) {
    __shared__ float4 tile[512];
    u32 rank, ranks, there, own = (u32)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"((rank + 1) % ranks));
    float4 v = {1, 2, 3, (float)threadIdx.x};
    size_t at = (size_t)blockIdx.x * turns * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < turns; i++, at += blockDim.x) {
        if (WHAT & 1) v = a[at];
        if (WHAT & 4) asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(there), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
        if (WHAT & 8) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(v.x) : "memory");
        if (WHAT & 16) asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(own), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
        if (WHAT & 32) asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(there) : "memory");
        if (WHAT & 64) asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
        if (WHAT & 2) o[at] = v;
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    }
    if (v.x == 1.2345f) o[0] = v;
}
#define CT(W) \
    K __cluster_dims__(2) ct_##W##_2(const float4 *a, float4 *o, int turns) { cluster_turns<W>(a, o, turns); } \
    K __cluster_dims__(4) ct_##W##_4(const float4 *a, float4 *o, int turns) { cluster_turns<W>(a, o, turns); } \
    K __cluster_dims__(8) ct_##W##_8(const float4 *a, float4 *o, int turns) { cluster_turns<W>(a, o, turns); }
CT(0) CT(1) CT(2) CT(3) CT(4) CT(8) CT(16) CT(32) CT(6) CT(70) CT(71) CT(34) CT(66) CT(65) CT(67)
