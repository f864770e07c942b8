// Launches of one mechanism each, for tools/data/shares: atomics of all CTAs on the same lines, plain stores to the memory of clusters, groups of cp.async, bulk copies by all SMs,
// words of 1 to 16 bytes by up to 64 warps of an SM, launches of one warp, products of double width.
typedef unsigned u32; typedef unsigned long long u64; typedef unsigned char u8; typedef unsigned short u16;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
// Each warp changes `lanes` words of a line, then of the next one; CTAs begin `shift` lines apart, all after a load. lines: a power of two.
#define LINES(NAME, T, ASM, C) K NAME(const T *x, T *p, int turns, int lines, int lanes, int shift) { \
    T v = x[AT]; u32 at = threadIdx.x / 32 + blockIdx.x * shift; \
    for (int t = 0; t < turns; t++, at++) if (LANE < lanes) asm volatile(ASM ::"l"(p + (at & (lines - 1)) * 32 + LANE), C(v) : "memory"); }
LINES(a_red, u32, "red.global.add.u32 [%0],%1;", "r")
LINES(a_redf, float, "red.global.add.f32 [%0],%1;", "f")
LINES(a_max, u32, "red.global.max.u32 [%0],%1;", "r")
K a_atom(const u32 *x, u32 *p, int turns, int lines, int lanes, int shift) {
    u32 v = x[AT], at = threadIdx.x / 32 + blockIdx.x * shift, s = 0;
    for (int t = 0; t < turns; t++, at++) if (LANE < lanes) { u32 o; asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(o) : "l"(p + (at & (lines - 1)) * 32 + LANE), "r"(v) : "memory"); s += o; }
    if (s == 0x12345678) p[1 << 20] = s;
}
K a_half(const u32 *x, u32 *p, int turns, int lines, int lanes, int shift) {
    u32 v = x[AT] & 0x03ff03ff, at = threadIdx.x / 32 + blockIdx.x * shift;
    for (int t = 0; t < turns; t++, at++) if (LANE < lanes) asm volatile("red.global.add.noftz.f16x2 [%0],%1;" ::"l"(p + (at & (lines - 1)) * 32 + LANE), "r"(v) : "memory");
}
K a_red64(const u64 *x, u64 *p, int turns, int lines, int lanes, int shift) {
    u64 v = x[AT]; u32 at = threadIdx.x / 32 + blockIdx.x * shift;
    for (int t = 0; t < turns; t++, at++) if (LANE < lanes) asm volatile("red.global.add.u64 [%0],%1;" ::"l"(p + (at & (lines - 1)) * 32 + LANE), "l"(v) : "memory");
}
// One word a lane at random among `words`.
K a_random(const u32 *x, u32 *p, int turns, u32 mask) { u32 h = x[AT]; for (int t = 0; t < turns; t++) { asm volatile("red.global.add.u32 [%0],%1;" ::"l"(p + (h >> 7 & mask)), "r"(1) : "memory"); h = h * 1664525u + 1013904223u; } }
K a_randomf(const u32 *x, float *p, int turns, u32 mask) { u32 h = x[AT]; for (int t = 0; t < turns; t++) { asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p + (h >> 7 & mask)), "f"(1.f) : "memory"); h = h * 1664525u + 1013904223u; } }
K a_randommax(const u32 *x, u32 *p, int turns, u32 mask) { u32 h = x[AT]; for (int t = 0; t < turns; t++) { asm volatile("red.global.max.u32 [%0],%1;" ::"l"(p + (h >> 7 & mask)), "r"(h) : "memory"); h = h * 1664525u + 1013904223u; } }
// Plain stores to the next CTA of a cluster, `n` a turn and then a barrier of the cluster; how: 0 side by side, 1 by rows of 16 bytes turned, 2 all to the first CTA.
template <int BYTES> __device__ __forceinline__ void far_stores(u32 *y, int turns, int n, int how, int lanes) {
    __shared__ __align__(16) u32 s[8192]; u32 rank, ranks, far; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank)); asm volatile("mov.u32 %0,%%cluster_nctarank;" : "=r"(ranks));
    u32 to = how == 2 ? 0 : (rank + 1) % ranks, own = place(s) + threadIdx.x * BYTES; asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(own), "r"(to));
    u32 v = threadIdx.x; asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    #pragma unroll 1
    for (int t = 0; t < turns; t++) {
        #pragma unroll 1
        for (int k = 0; k < n; k++) if (LANE < lanes) {
            if (BYTES == 4) asm volatile("st.shared::cluster.u32 [%0],%1;" ::"r"(far), "r"(v) : "memory");
            if (BYTES == 8) asm volatile("st.shared::cluster.v2.u32 [%0],{%1,%1};" ::"r"(far), "r"(v) : "memory");
            if (BYTES == 16) asm volatile("st.shared::cluster.v4.u32 [%0],{%1,%1,%1,%1};" ::"r"(far), "r"(v) : "memory");
        }
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); v += t;
    }
    if (v == 0x12345678) y[0] = s[v & 8191];
}
#define FAR(B, C) K __cluster_dims__(C) d_far##B##_##C(u32 *y, int turns, int n, int how, int lanes) { far_stores<B>(y, turns, n, how, lanes); }
FAR(4, 2) FAR(8, 2) FAR(16, 2) FAR(4, 4) FAR(16, 4) FAR(4, 8) FAR(16, 8)
// Copies of 16 bytes by cp.async, `n` a thread and turn, `GROUPS` groups more under way; the tile is read between barriers.
template <int GROUPS> __device__ __forceinline__ void async_stages(const uint4 *x, u32 *y, int turns, int n, int same) {
    extern __shared__ uint4 room[]; const uint4 *p = x + (same ? 0 : blockIdx.x * turns * n * blockDim.x) + threadIdx.x; u32 size = n * blockDim.x, sum = 0;
    #pragma unroll
    for (int g = 0; g < GROUPS; g++) { for (int k = 0; k < n; k++) if (g < turns) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(place(room + (g % (GROUPS + 1)) * size + k * blockDim.x + threadIdx.x)), "l"(p + g * size + k * blockDim.x) : "memory"); asm volatile("cp.async.commit_group;" ::: "memory"); }
    u32 in = GROUPS % (GROUPS + 1), out = 0;
    #pragma unroll 1
    for (int t = 0; t < turns; t++) {
        if (t + GROUPS < turns) for (int k = 0; k < n; k++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(place(room + in * size + k * blockDim.x + threadIdx.x)), "l"(p + (t + GROUPS) * size + k * blockDim.x) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory"); asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory"); __syncthreads();
        for (int k = 0; k < n; k++) sum += room[out * size + k * blockDim.x + (threadIdx.x ^ 1)].x;
        __syncthreads(); in = in == GROUPS ? 0 : in + 1, out = out == GROUPS ? 0 : out + 1;
    }
    if (sum == 0x12345678) y[0] = sum;
}
K c_groups0(const uint4 *x, u32 *y, int turns, int n, int same) { async_stages<0>(x, y, turns, n, same); }
K c_groups1(const uint4 *x, u32 *y, int turns, int n, int same) { async_stages<1>(x, y, turns, n, same); }
K c_groups2(const uint4 *x, u32 *y, int turns, int n, int same) { async_stages<2>(x, y, turns, n, same); }
K c_groups3(const uint4 *x, u32 *y, int turns, int n, int same) { async_stages<3>(x, y, turns, n, same); }
// Bulk copies of `size` bytes to shared memory by one thread, `stages` under way; each waits for its own. apart: bytes from copy to copy of a CTA; same: all CTAs read the same.
K b_read(const u8 *x, u32 *y, int turns, int size, int stages, int apart, int same) {
    extern __shared__ __align__(128) u8 room8[]; __shared__ u64 bars[8]; u32 b = place(bars); const u8 *p = x + (same ? 0ull : (u64)blockIdx.x * turns * apart);
    if (threadIdx.x == 0) {
        for (int k = 0; k < stages; k++) asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(b + 8 * k) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
        #define COPY(t, s) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;\n cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2],[%3],%1,[%0];" ::"r"(b + 8 * (s)), "r"(size), "r"(place(room8) + (s) * size), "l"(p + (u64)(t) * apart) : "memory")
        for (int k = 0; k < stages; k++) COPY(k, k);
        u32 s = 0, phase = 0;
        for (int t = 0; t < turns; t++) {
            u32 done; do { asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q,[%1],%2; selp.u32 %0,1,0,q; }" : "=r"(done) : "r"(b + 8 * s), "r"(phase) : "memory"); } while (!done);
            if (t + stages < turns) COPY(t + stages, s);
            if (++s == stages) s = 0, phase ^= 1;
        }
    }
}
// Bulk copies from shared to global memory, `depth` under way before one waits for the oldest to have been read.
K b_write(u8 *y, int turns, int size, int apart) {
    extern __shared__ __align__(128) u8 room8[]; u8 *p = y + (u64)blockIdx.x * turns * apart;
    if (threadIdx.x == 0) { for (int t = 0; t < turns; t++) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;\n cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 3;" ::"l"(p + (u64)t * apart), "r"(place(room8)), "r"(size) : "memory"); } asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
}
// One word a thread, copied, only read or only written, two read and one written.
#define WIDTHS(T, N) K w_copy##N(const T *x, T *y) { y[AT] = x[AT]; } \
    K w_two##N(const T *x, const T *y, T *z) { T a = x[AT], b = y[AT]; z[AT] = a ^ b; } \
    K w_store##N(T *y) { y[AT] = (T)AT; } \
    K w_load##N(const T *x, T *y) { T a = x[AT]; if (a == (T)0x1234567812345677ull && (a * 3 & 8)) y[AT] = a; }
WIDTHS(u8, 1) WIDTHS(u16, 2) WIDTHS(u32, 4) WIDTHS(u64, 8)
K w_copy16(const uint4 *x, uint4 *y) { y[AT] = x[AT]; }
K w_twice4(const u32 *x, u32 *y, int n) { y[AT] = x[AT]; y[AT + n] = x[AT + n]; }
// One warp, or few: so many loads one after the other, stores, sums; the last word is stored.
K o_chase(const u32 *x, u32 *y, int n) { u32 i = AT; for (int k = 0; k < n; k++) i = x[i]; y[AT] = i; }
K o_sum(u32 *y, int n, u32 a) { u32 v = AT;
    #pragma unroll 1
    for (int k = 0; k < n; k++) v = v * v + a;
    y[AT] = v; }
K o_stores(u32 *y, int n, int apart) {
    #pragma unroll 1
    for (int k = 0; k < n; k++) y[AT + k * apart] = k; }
K o_shared(const u32 *x, u32 *y, int n) { __shared__ u32 s[1024]; u32 t = threadIdx.x, v = x[AT];
    #pragma unroll 1
    for (int k = 0; k < n; k++) { s[t] = v; __syncthreads(); v += s[t ^ 1]; __syncthreads(); }
    y[AT] = v; }
K o_bar(u32 *y, int n) {
    #pragma unroll 1
    for (int k = 0; k < n; k++) __syncthreads();
    y[AT] = n; }
K o_shuffle(u32 *y, int n) { u32 v = AT;
    #pragma unroll 1
    for (int k = 0; k < n; k++) v += __shfl_xor_sync(~0u, v, 1);
    y[AT] = v; }
// Products of double width.
K p_wide(const u32 *x, u64 *y, int n) { u64 s = AT; u32 a = x[0] + AT;
    #pragma unroll 1
    for (int t = 0; t < n; t++) {
        #pragma unroll
        for (int k = 0; k < 8; k++) asm("{ .reg .u32 l,h; mov.b64 {l,h},%0; mad.wide.u32 %0,l,%1,%0; }" : "+l"(s) : "r"(a));
    }
    y[AT] = s; }
K p_high(const u64 *x, u64 *y, int n) { u64 s = AT, a = x[0] + AT;
    #pragma unroll 1
    for (int t = 0; t < n; t++) s = __umul64hi(s, a) + s * 3;
    y[AT] = s; }
// Philox, ten rounds, four words a turn.
K p_philox(u32 *y, int n, u32 seed) { u32 s = 0;
    #pragma unroll 1
    for (int t = 0; t < n; t++) { u32 c0 = AT, c1 = t, c2 = 0, c3 = 0, k0 = seed, k1 = 7;
        #pragma unroll
        for (int r = 0; r < 10; r++) { u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2; c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u; }
        s += c0 ^ c1 ^ c2 ^ c3; }
    y[AT] = s; }
