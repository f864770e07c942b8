// Launches of one mechanism each, for tools/data/late: copies of all SMs with a clock of each warp, loads and stores in numbers, barriers, chains of carries, accesses of a whole cluster to one CTA.
typedef unsigned u32; typedef unsigned long long u64; typedef unsigned char u8;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 tick() { u32 c; asm volatile("mov.u32 %0,%%clock;" : "=r"(c) :: "memory"); return c; }
template <class T> __device__ __forceinline__ u32 word(const T &v) { return *(const u32 *)&v; }
// A word of T a lane copied, or only loaded or only stored; when each warp began, had its word and had stored it, on which SM.
#define STAMPED(T, N) K t_copy##N(const T *x, T *y, uint4 *out) { u32 a = tick(); T v = x[AT]; asm volatile("" :: "r"(word(v)) : "memory"); u32 b = tick() + (word(v) == 0x12345679); y[AT] = v; u32 c = tick(), sm; asm volatile("mov.u32 %0,%%smid;" : "=r"(sm)); if (!LANE) out[AT / 32] = make_uint4(sm, a, b, c); } \
    K t_load##N(const T *x, T *y, uint4 *out) { u32 a = tick(); T v = x[AT]; asm volatile("" :: "r"(word(v)) : "memory"); u32 b = tick() + (word(v) == 0x12345679), c = tick(), sm; asm volatile("mov.u32 %0,%%smid;" : "=r"(sm)); if (!LANE) out[AT / 32] = make_uint4(sm, a, b, c); } \
    K t_store##N(const T *x, T *y, uint4 *out) { u32 a = tick(); T v; memset(&v, 7, sizeof v); y[AT] = v; u32 c = tick(), sm; asm volatile("mov.u32 %0,%%smid;" : "=r"(sm)); if (!LANE) out[AT / 32] = make_uint4(sm, a, a, c); }
STAMPED(u32, 4) STAMPED(uint2, 8) STAMPED(uint4, 16)
// So many words of T loaded from arrays of their own, and so many stored.
template <class T, int L, int S> __device__ __forceinline__ void mix(const T *x, T *y, u32 n) { T v[L]; u32 s = 0;
    _Pragma("unroll") for (int k = 0; k < L; k++) v[k] = x[AT + k * n];
    _Pragma("unroll") for (int k = 0; k < L; k++) s ^= word(v[k]);
    _Pragma("unroll") for (int k = 0; k < S; k++) { T w = v[0]; *(u32 *)&w = s + k; y[AT + k * n] = w; } }
#define MIX(T, N, L, S) K m_##N##_##L##_##S(const T *x, T *y, u32 n) { mix<T, L, S>(x, y, n); }
#define MIXES(T, N) MIX(T, N, 1, 1) MIX(T, N, 2, 1) MIX(T, N, 3, 1) MIX(T, N, 4, 1) MIX(T, N, 1, 2) MIX(T, N, 2, 2) MIX(T, N, 1, 3)
MIXES(u32, 4) MIXES(uint2, 8) MIXES(uint4, 16)
// Barriers of the CTA with so many dependent additions in between, a turn or eight in straight code.
#define BARS(A) K b_loop##A(u32 *y, int n, u32 a) { u32 v = AT; _Pragma("unroll 1") for (int t = 0; t < n; t++) { asm volatile("bar.sync 0;" ::: "memory"); _Pragma("unroll") for (int k = 0; k < A; k++) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(v) : "r"(a)); } y[AT] = v; } \
    K b_code##A(u32 *y, int n, u32 a) { u32 v = AT; _Pragma("unroll 1") for (int t = 0; t < n; t += 8) { _Pragma("unroll") for (int j = 0; j < 8; j++) { asm volatile("bar.sync 0;" ::: "memory"); _Pragma("unroll") for (int k = 0; k < A; k++) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(v) : "r"(a)); } } y[AT] = v; }
BARS(0) BARS(1) BARS(4) BARS(16)
// Loops without a barrier: so many dependent additions, a branch back.
#define LOOPS(A) K b_none##A(u32 *y, int n, u32 a) { u32 v = AT; _Pragma("unroll 1") for (int t = 0; t < n; t++) { _Pragma("unroll") for (int k = 0; k < A; k++) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(v) : "r"(a)); asm volatile("" ::: "memory"); } y[AT] = v; }
LOOPS(1) LOOPS(4) LOOPS(16)
// Products of N words by a word with carries, by N words, and sums of N words: turns that depend on each other.
template <int N> __device__ __forceinline__ void row(u32 *s, const u32 *a, u32 b) {
    asm volatile("mad.lo.cc.u32 %0,%1,%2,%0;" : "+r"(s[0]) : "r"(a[0]), "r"(b));
    _Pragma("unroll") for (int k = 1; k < N; k++) asm volatile("madc.lo.cc.u32 %0,%1,%2,%0;" : "+r"(s[k]) : "r"(a[k]), "r"(b));
    asm volatile("addc.u32 %0,%0,0;" : "+r"(s[N]));
    asm volatile("mad.hi.cc.u32 %0,%1,%2,%0;" : "+r"(s[1]) : "r"(a[0]), "r"(b));
    _Pragma("unroll") for (int k = 1; k < N; k++) asm volatile("madc.hi.cc.u32 %0,%1,%2,%0;" : "+r"(s[k + 1]) : "r"(a[k]), "r"(b));
}
#define CHAINS(N) K c_row##N(u32 *y, int n, u32 a) { u32 s[N + 1], v[N]; _Pragma("unroll") for (int k = 0; k < N; k++) v[k] = AT * k + a, s[k] = k; s[N] = 0; _Pragma("unroll 1") for (int t = 0; t < n; t++) { row<N>(s, v, s[0] | 1); s[N] = 0; } u32 q = 0; _Pragma("unroll") for (int k = 0; k < N; k++) q ^= s[k]; y[AT] = q; } \
    K c_sum##N(u32 *y, int n, u32 a) { u32 s[N]; _Pragma("unroll") for (int k = 0; k < N; k++) s[k] = AT * k; _Pragma("unroll 1") for (int t = 0; t < n; t++) { asm volatile("add.cc.u32 %0,%0,%1;" : "+r"(s[0]) : "r"(a)); _Pragma("unroll") for (int k = 1; k < N; k++) asm volatile("addc.cc.u32 %0,%0,%1;" : "+r"(s[k]) : "r"(a)); } u32 q = 0; _Pragma("unroll") for (int k = 0; k < N; k++) q ^= s[k]; y[AT] = q; } \
    K c_all##N(u32 *y, int n, u32 a) { u32 v[N]; _Pragma("unroll") for (int k = 0; k < N; k++) v[k] = AT * k + a; _Pragma("unroll 1") for (int t = 0; t < n; t++) { u32 s[2 * N + 1]; _Pragma("unroll") for (int k = 0; k <= 2 * N; k++) s[k] = 0; _Pragma("unroll") for (int k = 0; k < N; k++) row<N>(s + k, v, v[k]); _Pragma("unroll") for (int k = 0; k < N; k++) v[k] = s[k] ^ s[k + N]; } u32 q = 0; _Pragma("unroll") for (int k = 0; k < N; k++) q ^= v[k]; y[AT] = q; }
CHAINS(4) CHAINS(8)
K c_wide(u64 *y, int n, u64 a) { u64 v = AT; _Pragma("unroll 1") for (int t = 0; t < n; t++) { u64 l = v * a, h = __umul64hi(v, a); v = l ^ h; } y[AT] = v; }
// Four accesses a turn of each CTA of a cluster to the next one or the first one; a barrier of the cluster at the end.
#define OPEN u32 rank, ranks, far; asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank)); asm volatile("mov.u32 %0,%%cluster_nctarank;" : "=r"(ranks)); u32 to = how ? 0 : (rank + 1) % ranks; 
#define MEET asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#define FAR(C) K __cluster_dims__(C) f_ld4_##C(u32 *y, int n, int how) { __shared__ u32 s[4096]; OPEN asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(to)); s[threadIdx.x] = 0; MEET; u32 v = 0; \
        _Pragma("unroll 1") for (int t = 0; t < n; t++) { u32 a, b, c, d; asm volatile("ld.shared::cluster.u32 %0,[%4];\nld.shared::cluster.u32 %1,[%4+2048];\nld.shared::cluster.u32 %2,[%4+4096];\nld.shared::cluster.u32 %3,[%4+6144];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(far) : "memory"); v += a ^ b ^ c ^ d; } MEET; if (v == 0x12345678) y[0] = v; } \
    K __cluster_dims__(C) f_ld16_##C(u32 *y, int n, int how) { __shared__ uint4 s[2048]; OPEN asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(to)); s[threadIdx.x] = make_uint4(0, 0, 0, 0); MEET; u32 v = 0; \
        _Pragma("unroll 1") for (int t = 0; t < n; t++) { u32 a[4], b[4], c[4], d[4]; asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(far) : "memory"); asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4+8192];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(far) : "memory"); \
            asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4+16384];" : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3]) : "r"(far) : "memory"); asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4+24576];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(far) : "memory"); v += a[0] ^ b[1] ^ c[2] ^ d[3] ^ a[1] ^ a[2] ^ a[3] ^ b[0] ^ b[2] ^ b[3] ^ c[0] ^ c[1] ^ c[3] ^ d[0] ^ d[1] ^ d[2]; } MEET; if (v == 0x12345678) y[0] = v; } \
    K __cluster_dims__(C) f_red_##C(u32 *y, int n, int how) { __shared__ u32 s[4096]; OPEN asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(to)); s[threadIdx.x] = 0; MEET; \
        _Pragma("unroll 1") for (int t = 0; t < n; t++) asm volatile("red.shared::cluster.add.u32 [%0],1;\nred.shared::cluster.add.u32 [%0+2048],1;\nred.shared::cluster.add.u32 [%0+4096],1;\nred.shared::cluster.add.u32 [%0+6144],1;" :: "r"(far) : "memory"); MEET; if (s[threadIdx.x] == 0x12345678) y[0] = 1; } \
    K __cluster_dims__(C) f_atom_##C(u32 *y, int n, int how) { __shared__ u32 s[4096]; OPEN asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(to)); s[threadIdx.x] = 0; MEET; u32 v = 0; \
        _Pragma("unroll 1") for (int t = 0; t < n; t++) { u32 a, b, c, d; asm volatile("atom.shared::cluster.add.u32 %0,[%4],1;\natom.shared::cluster.add.u32 %1,[%4+2048],1;\natom.shared::cluster.add.u32 %2,[%4+4096],1;\natom.shared::cluster.add.u32 %3,[%4+6144],1;" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(far) : "memory"); v += a ^ b ^ c ^ d; } MEET; if (v == 0x12345678) y[0] = v; } \
    K __cluster_dims__(C) f_send_##C(u32 *y, int n, int how, int red) { __shared__ u32 s[4096]; __shared__ u64 bar; u32 fb; OPEN asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(far) : "r"(place(s + threadIdx.x)), "r"(to)); asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(fb) : "r"(place(&bar)), "r"(to)); u32 from = how ? (rank ? 0 : ranks) : 1; s[threadIdx.x] = 0; \
        if (!threadIdx.x) { asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" :: "r"(place(&bar)) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); } MEET; \
        if (!threadIdx.x && from) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" :: "r"(place(&bar)), "r"(from * n * blockDim.x * 4) : "memory"); \
        if (red) { _Pragma("unroll 1") for (int t = 0; t < n; t++) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0],%1,[%2];" :: "r"(far), "r"(t), "r"(fb) : "memory"); } \
        else { _Pragma("unroll 1") for (int t = 0; t < n; t++) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" :: "r"(far), "r"(t), "r"(fb) : "memory"); } \
        if (from) { u32 done; do { asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q,[%1],0; selp.u32 %0,1,0,q; }" : "=r"(done) : "r"(place(&bar)) : "memory"); } while (!done); } MEET; if (s[threadIdx.x] == 0x12345678) y[0] = 1; }
FAR(2) FAR(4) FAR(8)
