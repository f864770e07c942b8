// Kernels as libraries and courses have them, most in two to four ways; to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned u32;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long long u64;
#define K extern "C" __global__ void
#define R __restrict__
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define LANE (threadIdx.x & 31)
#define WARP (threadIdx.x >> 5)
#define ALL 0xffffffffu
#define UNROLL _Pragma("unroll")
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ float warp_sum(float v) {
    UNROLL for (int k = 16; k; k /= 2) v += __shfl_xor_sync(ALL, v, k);
    return v;
}
__device__ __forceinline__ void mb_init(u64 *b, u32 n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_tx(u64 *b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_arrive(u64 *b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place(b)) : "memory"); }
__device__ __forceinline__ void mb_wait(u64 *b, u32 p) { asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra W;\n}" ::"r"(place(b)), "r"(p) : "memory"); }
__device__ __forceinline__ void bulk(void *to, const void *from, u32 n, u64 *b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)), "l"(from), "r"(n), "r"(place(b)) : "memory"); }
__device__ __forceinline__ void cp16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

template <int B> __device__ __forceinline__ float cta_sum(float v, float *part) {
    v = warp_sum(v);
    if (!LANE) part[WARP] = v;
    __syncthreads();
    float s = 0; UNROLL for (int k = 0; k < B / 32; k++) s += part[k];
    __syncthreads();
    return s;
}

// 1. Rotary embedding: angles from a table, and computed.
K rotary_table(const __half2 *R q, const float2 *R cs, __half2 *R o, int heads) {
    int t = blockIdx.x, d = T & 31; float2 w = cs[t * 32 + d];
    for (int h = T >> 5; h < heads; h += 4) { float2 v = __half22float2(q[(t * heads + h) * 32 + d]); o[(t * heads + h) * 32 + d] = __floats2half2_rn(v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x); }
}
K rotary_sines(const __half2 *R q, float base, __half2 *R o, int heads) {
    int t = blockIdx.x, d = T & 31; float c, s; __sincosf(t * __powf(base, -d / 32.f), &s, &c);
    for (int h = T >> 5; h < heads; h += 4) { float2 v = __half22float2(q[(t * heads + h) * 32 + d]); o[(t * heads + h) * 32 + d] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c); }
}
// 2. RMS norms of rows of 2048 halves: read twice, kept in registers, kept in shared memory by cp.async.
K rmsn_twice(const __half2 *R x, const __half2 *R g, __half2 *R y) {
    __shared__ float part[8]; const __half2 *p = x + blockIdx.x * 1024; float s = 0;
    for (int k = T; k < 1024; k += 256) { float2 v = __half22float2(p[k]); s += v.x * v.x + v.y * v.y; }
    s = rsqrtf(cta_sum<256>(s, part) / 2048 + 1e-5f);
    for (int k = T; k < 1024; k += 256) { float2 v = __half22float2(p[k]), w = __half22float2(g[k]); y[blockIdx.x * 1024 + k] = __floats2half2_rn(v.x * s * w.x, v.y * s * w.y); }
}
K rmsn_kept(const uint4 *R x, const uint4 *R g, uint4 *R y) {
    __shared__ float part[8]; uint4 v = x[blockIdx.x * 256 + T], w = g[T]; const __half2 *h = (const __half2 *)&v, *e = (const __half2 *)&w; float s = 0;
    UNROLL for (int k = 0; k < 4; k++) { float2 f = __half22float2(h[k]); s += f.x * f.x + f.y * f.y; }
    s = rsqrtf(cta_sum<256>(s, part) / 2048 + 1e-5f);
    uint4 o; __half2 *q = (__half2 *)&o;
    UNROLL for (int k = 0; k < 4; k++) { float2 f = __half22float2(h[k]), c = __half22float2(e[k]); q[k] = __floats2half2_rn(f.x * s * c.x, f.y * s * c.y); }
    y[blockIdx.x * 256 + T] = o;
}
K rmsn_copied(const uint4 *R x, const uint4 *R g, uint4 *R y, int rows) {
    __shared__ uint4 ring[2][256]; __shared__ float part[8]; int r = blockIdx.x; uint4 w = g[T]; const __half2 *e = (const __half2 *)&w;
    cp16(&ring[0][T], x + r * 256 + T); cp_commit();
    for (int s = 0; r < rows; r += gridDim.x, s ^= 1) {
        if (r + gridDim.x < rows) cp16(&ring[s ^ 1][T], x + (r + gridDim.x) * 256 + T);
        cp_commit(); cp_wait<1>();
        uint4 v = ring[s][T]; const __half2 *h = (const __half2 *)&v; float a = 0;
        UNROLL for (int k = 0; k < 4; k++) { float2 f = __half22float2(h[k]); a += f.x * f.x + f.y * f.y; }
        a = rsqrtf(cta_sum<256>(a, part) / 2048 + 1e-5f); uint4 o; __half2 *q = (__half2 *)&o;
        UNROLL for (int k = 0; k < 4; k++) { float2 f = __half22float2(h[k]), c = __half22float2(e[k]); q[k] = __floats2half2_rn(f.x * a * c.x, f.y * a * c.y); }
        y[r * 256 + T] = o;
    }
}
// 3. Log-softmax of rows of 128: a warp a row, eight lanes a row.
template <int L> __device__ __forceinline__ void log_softmax(const float4 *x, float4 *y) {
    int r = AT / L, l = AT % L; const int M = 32 / L; float4 v[M]; float m = -1e30f, s = 0;
    UNROLL for (int k = 0; k < M; k++) v[k] = x[r * 32 + k * L + l], m = fmaxf(m, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    UNROLL for (int k = L / 2; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(ALL, m, k));
    UNROLL for (int k = 0; k < M; k++) s += __expf(v[k].x - m) + __expf(v[k].y - m) + __expf(v[k].z - m) + __expf(v[k].w - m);
    UNROLL for (int k = L / 2; k; k /= 2) s += __shfl_xor_sync(ALL, s, k);
    m += __logf(s);
    UNROLL for (int k = 0; k < M; k++) y[r * 32 + k * L + l] = make_float4(v[k].x - m, v[k].y - m, v[k].z - m, v[k].w - m);
}
K logsoft_warp(const float4 *R x, float4 *R y) { log_softmax<32>(x, y); }
K logsoft_eight(const float4 *R x, float4 *R y) { log_softmax<8>(x, y); }
// 4. Bytes by bytes, 64x64 tiles over cp.async in 2, 3 and 4 stages, rows padded or swizzled, by ldmatrix and mma.
__device__ __forceinline__ void ldm4(u32 *r, const void *p) { asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory"); }
__device__ __forceinline__ void imma(int *c, const u32 *a, u32 b0, u32 b1) { asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); }
template <int S, bool SWZ> __device__ __forceinline__ void byte_tiles(const u8 *a, const u8 *b, int *c, int n, int k) {
    const int P = SWZ ? 64 : 80; extern __shared__ __align__(128) u8 room[]; u8 *sa = room, *sb = room + S * 64 * P;
    int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, wm = (WARP & 1) * 32, wn = (WARP >> 1) * 32; int acc[2][4][4] = {};
    auto at = [&](int r, int q) { return r * P + (SWZ ? (q ^ (r >> 1 & 3)) : q) * 16; };
    auto load = [&](int s, int t) { UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T, r = i >> 2, q = i & 3; cp16(sa + s * 64 * P + at(r, q), a + (m0 + r) * k + t * 64 + q * 16); cp16(sb + s * 64 * P + at(r, q), b + (n0 + r) * k + t * 64 + q * 16); } };
    int tiles = k / 64; UNROLL for (int s = 0; s < S - 1; s++) { if (s < tiles) load(s, s); cp_commit(); }
    for (int t = 0, s = 0; t < tiles; t++) {
        cp_wait<S - 2>(); __syncthreads();
        if (t + S - 1 < tiles) load((s + S - 1) % S, t + S - 1);
        cp_commit();
        UNROLL for (int h = 0; h < 2; h++) {
            u32 fa[2][4], fb[2][4];
            UNROLL for (int i = 0; i < 2; i++) ldm4(fa[i], sa + s * 64 * P + at(wm + i * 16 + (LANE & 15), h * 2 + (LANE >> 4)));
            UNROLL for (int i = 0; i < 2; i++) ldm4(fb[i], sb + s * 64 * P + at(wn + i * 16 + (LANE & 7) + (LANE >> 4) * 8, h * 2 + (LANE >> 3 & 1)));
            UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) imma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
        s = s + 1 == S ? 0 : s + 1;
    }
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) { int *o = c + (m0 + wm + i * 16 + LANE / 4) * n + n0 + wn + j * 8 + LANE % 4 * 2; *(int2 *)o = make_int2(acc[i][j][0], acc[i][j][1]); *(int2 *)(o + 8 * n) = make_int2(acc[i][j][2], acc[i][j][3]); }
}
K bytes_padded2(const u8 *R a, const u8 *R b, int *R c, int n, int k) { byte_tiles<2, false>(a, b, c, n, k); }
K bytes_swizzled2(const u8 *R a, const u8 *R b, int *R c, int n, int k) { byte_tiles<2, true>(a, b, c, n, k); }
K bytes_swizzled3(const u8 *R a, const u8 *R b, int *R c, int n, int k) { byte_tiles<3, true>(a, b, c, n, k); }
K bytes_swizzled4(const u8 *R a, const u8 *R b, int *R c, int n, int k) { byte_tiles<4, true>(a, b, c, n, k); }
// 5. Grouped products: groups of unequal rows found by search; each CTA walks through tiles.
__device__ __forceinline__ void small_tile(const float *a, const float *b, float *c, int rows, int k, int n, float (*sa)[33], float (*sb)[33]) {
    float acc[4] = {}; int col = LANE, row = WARP * 4;
    for (int t = 0; t < k; t += 32) {
        UNROLL for (int j = 0; j < 4; j++) sa[row + j][col] = row + j < rows ? a[(row + j) * k + t + col] : 0.f, sb[row + j][col] = b[(t + row + j) * n + col];
        __syncthreads();
        UNROLL for (int q = 0; q < 32; q++) UNROLL for (int j = 0; j < 4; j++) acc[j] += sa[row + j][q] * sb[q][col];
        __syncthreads();
    }
    UNROLL for (int j = 0; j < 4; j++) if (row + j < rows) c[(row + j) * n + col] = acc[j];
}
__device__ __forceinline__ int group_rows(int g) { return 8 + (g * 29 & 31) * 2; }
K groups_walk(const float *R a, const float *R b, float *R c, int groups, int k, int n) {
    __shared__ float sa[32][33], sb[32][33]; int wide = n / 32, tile = blockIdx.x, first = 0, start = 0;
    for (int g = 0; g < groups; g++) {
        int rows = group_rows(g), tiles = (rows + 31) / 32 * wide;
        for (; tile < first + tiles; tile += gridDim.x) { int w = tile - first, m = w / wide * 32, q = w % wide * 32; small_tile(a + (start + m) * k, b + g * k * n + q, c + (start + m) * n + q, rows - m, k, n, sa, sb); }
        first += tiles, start += rows;
    }
}
K groups_given(const float *R a, const float *R b, float *R c, const int4 *R list, int k, int n) {
    __shared__ float sa[32][33], sb[32][33]; int4 w = list[blockIdx.x & 31]; int m = w.x & 31, g = w.y & 7, q = blockIdx.y * 32;
    small_tile(a + (g * 40 + m) * k, b + g * k * n + q, c + (blockIdx.x * 32) * n + q, 8 + (w.z & 23), k, n, sa, sb);
}
// 6. Prefix sums of 1024 by shuffles, by steps in shared memory, by four a thread.
K prefix_shuffles(const int *R x, int *R y) {
    __shared__ int part[32]; int i = blockIdx.x * 1024 + T, v = x[i];
    UNROLL for (int k = 1; k < 32; k *= 2) { int w = __shfl_up_sync(ALL, v, k); if (LANE >= k) v += w; }
    if (LANE == 31) part[WARP] = v;
    __syncthreads();
    if (T < 32) { int p = part[T]; UNROLL for (int k = 1; k < 32; k *= 2) { int w = __shfl_up_sync(ALL, p, k); if (LANE >= k) p += w; } part[T] = p; }
    __syncthreads();
    y[i] = v + (WARP ? part[WARP - 1] : 0);
}
K prefix_steps(const int *R x, int *R y) {
    __shared__ int a[2][1024]; int i = blockIdx.x * 1024 + T, s = 0; a[0][T] = x[i]; __syncthreads();
    for (int k = 1; k < 1024; k *= 2, s ^= 1) { int v = a[s][T]; if (T >= k) v += a[s][T - k]; a[s ^ 1][T] = v; __syncthreads(); }
    y[i] = a[s][T];
}
K prefix_fours(const int4 *R x, int4 *R y) {
    __shared__ int part[8]; int i = blockIdx.x * 256 + T; int4 v = x[i]; v.y += v.x, v.z += v.y, v.w += v.z; int s = v.w;
    UNROLL for (int k = 1; k < 32; k *= 2) { int w = __shfl_up_sync(ALL, s, k); if (LANE >= k) s += w; }
    if (LANE == 31) part[WARP] = s;
    __syncthreads();
    int b = s - v.w; UNROLL for (int k = 0; k < 8; k++) if (k < WARP) b += part[k];
    y[i] = make_int4(v.x + b, v.y + b, v.z + b, v.w + b);
}
// 7. Places of keys by their lowest four bits: by ballots, by counters of each thread.
K rank_ballots(const u32 *R x, u32 *R y, int shift) {
    __shared__ u32 cnt[8][16]; int i = AT; u32 v = x[i], d = v >> shift & 15, same = ALL;
    UNROLL for (int b = 0; b < 4; b++) { u32 m = __ballot_sync(ALL, d >> b & 1); same &= d >> b & 1 ? m : ~m; }
    u32 before = __popc(same & ((1u << LANE) - 1));
    if (T < 128) cnt[T >> 4][T & 15] = 0;
    __syncthreads();
    if (!before) cnt[WARP][d] = __popc(same);
    __syncthreads();
    u32 at = before; for (int w = 0; w < 8; w++) for (int e = 0; e < 16; e++) if (e < d || (e == d && w < WARP)) at += cnt[w][e];
    y[blockIdx.x * 256 + at] = v;
}
K rank_counters(const uint4 *R x, u32 *R y, int shift) {
    __shared__ u16 cnt[16][130]; __shared__ u32 sum[16][4]; uint4 q = x[blockIdx.x * 128 + T]; u32 v[4] = {q.x, q.y, q.z, q.w}, at[4];
    UNROLL for (int d = 0; d < 16; d++) cnt[d][T] = 0;
    UNROLL for (int k = 0; k < 4; k++) { u32 d = v[k] >> shift & 15; at[k] = cnt[d][T]++; }
    __syncthreads();
    UNROLL for (int d = 0; d < 16; d++) { int c = cnt[d][T], s = c; UNROLL for (int k = 1; k < 32; k *= 2) { int w = __shfl_up_sync(ALL, s, k); if (LANE >= k) s += w; } cnt[d][T] = s - c; if (LANE == 31) sum[d][WARP] = s; }
    __syncthreads();
    if (T < 32) { u32 a = sum[T >> 1][(T & 1) * 2], b = sum[T >> 1][(T & 1) * 2 + 1], s = a + b; UNROLL for (int k = 1; k < 32; k *= 2) { u32 w = __shfl_up_sync(ALL, s, k); if (LANE >= k) s += w; } sum[T >> 1][(T & 1) * 2] = s - a - b, sum[T >> 1][(T & 1) * 2 + 1] = s - b; }
    __syncthreads();
    UNROLL for (int k = 0; k < 4; k++) { u32 d = v[k] >> shift & 15; y[blockIdx.x * 512 + sum[d][WARP] + cnt[d][T] + at[k]] = v[k]; }
}
// 8. Histograms of 1024 bins: in global memory, in shared memory, in a copy for each two warps.
K bins_global(const u32 *R x, u32 *h, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) atomicAdd(h + (x[i] >> 22), 1u); }
K bins_shared(const u32 *R x, u32 *h, int n) { __shared__ u32 s[1024]; for (int k = T; k < 1024; k += 256) s[k] = 0; __syncthreads(); for (int i = AT; i < n; i += gridDim.x * 256) atomicAdd(s + (x[i] >> 22), 1u); __syncthreads(); for (int k = T; k < 1024; k += 256) if (s[k]) atomicAdd(h + k, s[k]); }
K bins_copies(const u32 *R x, u32 *h, int n) { __shared__ u32 s[4][1024]; for (int k = T; k < 4096; k += 256) s[0][k] = 0; __syncthreads(); for (int i = AT; i < n; i += gridDim.x * 256) atomicAdd(&s[WARP / 2][x[i] >> 22], 1u); __syncthreads(); for (int k = T; k < 1024; k += 256) { u32 v = s[0][k] + s[1][k] + s[2][k] + s[3][k]; if (v) atomicAdd(h + k, v); } }
// 9. ELL matrices by columns and by rows.
K ell_columns(const int *R col, const float *R val, const float *R x, float *R y, int width, int n) { int r = AT; float s = 0; for (int k = 0; k < width; k++) s += val[k * n + r] * x[col[k * n + r]]; y[r] = s; }
K ell_by_rows(const int *R col, const float *R val, const float *R x, float *R y, int width, int n) { int r = AT; float s = 0; for (int k = 0; k < width; k++) s += val[r * width + k] * x[col[r * width + k]]; y[r] = s; }
// 10. A 5x5 filter: with a halo in shared memory, straight from global memory; weights in constants.
__constant__ float w25[25] = {.01f, .02f, .03f, .02f, .01f, .02f, .05f, .07f, .05f, .02f, .03f, .07f, .2f, .07f, .03f, .02f, .05f, .07f, .05f, .02f, .01f, .02f, .03f, .02f, .01f};
K five_halo(const float *R x, float *R y, int w) {
    __shared__ float t[12][36]; int c0 = blockIdx.x * 32, r0 = blockIdx.y * 8;
    for (int i = T; i < 12 * 36; i += 256) t[i / 36][i % 36] = x[(r0 + i / 36) * w + c0 + i % 36];
    __syncthreads(); float s = 0; int r = WARP, c = LANE;
    UNROLL for (int i = 0; i < 5; i++) UNROLL for (int j = 0; j < 5; j++) s += w25[i * 5 + j] * t[r + i][c + j];
    y[(r0 + r) * (w - 4) + c0 + c] = s;
}
K five_direct(const float *R x, float *R y, int w) { int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP; float s = 0; UNROLL for (int i = 0; i < 5; i++) UNROLL for (int j = 0; j < 5; j++) s += w25[i * 5 + j] * x[(r + i) * w + c + j]; y[r * (w - 4) + c] = s; }
// 11. A transform of 256 points by radix 2: eight points a lane and shuffles, and steps in shared memory.
__device__ __forceinline__ float2 turned(float2 v, float a) { float s, c; __sincosf(a, &s, &c); return make_float2(v.x * c - v.y * s, v.x * s + v.y * c); }
K waves_shuffled(const float2 *R x, float2 *R y) {
    int b = (AT / 32) * 256; float2 v[8]; UNROLL for (int k = 0; k < 8; k++) v[k] = x[b + k * 32 + LANE];
    UNROLL for (int h = 4; h; h /= 2) UNROLL for (int k = 0; k < 8; k++) if (!(k & h)) { float2 p = v[k], q = v[k + h]; v[k] = make_float2(p.x + q.x, p.y + q.y), v[k + h] = turned(make_float2(p.x - q.x, p.y - q.y), -3.14159265f * ((k & (h - 1)) * 32 + LANE) / (h * 32)); }
    UNROLL for (int h = 16; h; h /= 2) UNROLL for (int k = 0; k < 8; k++) { float2 q = make_float2(__shfl_xor_sync(ALL, v[k].x, h), __shfl_xor_sync(ALL, v[k].y, h)); v[k] = LANE & h ? turned(make_float2(q.x - v[k].x, q.y - v[k].y), -3.14159265f * (LANE & (h - 1)) / h) : make_float2(v[k].x + q.x, v[k].y + q.y); }
    UNROLL for (int k = 0; k < 8; k++) y[b + k * 32 + LANE] = v[k];
}
K waves_shared(const float2 *R x, float2 *R y) {
    __shared__ float2 a[256]; int b = blockIdx.x * 256; a[T] = x[b + T], a[T + 128] = x[b + 128 + T]; __syncthreads();
    for (int h = 128; h; h /= 2) { int i = (T & ~(h - 1)) * 2 + (T & (h - 1)); float2 p = a[i], q = a[i + h]; a[i] = make_float2(p.x + q.x, p.y + q.y), a[i + h] = turned(make_float2(p.x - q.x, p.y - q.y), -3.14159265f * (T & (h - 1)) / h); __syncthreads(); }
    y[b + T] = a[T], y[b + 128 + T] = a[T + 128];
}
// 12. Words of eight bytes transposed: tiles of 32x32 as they are, padded, swizzled.
#define FLIP(NAME, PITCH, COL) K NAME(const float2 *R x, float2 *R y, int w, int h) { \
    __shared__ float2 t[32][PITCH]; int c = blockIdx.x * 32, r = blockIdx.y * 32; \
    UNROLL for (int k = 0; k < 32; k += 8) t[WARP + k][COL(WARP + k, LANE)] = x[(r + WARP + k) * w + c + LANE]; \
    __syncthreads(); \
    UNROLL for (int k = 0; k < 32; k += 8) y[(c + WARP + k) * h + r + LANE] = t[LANE][COL(LANE, WARP + k)]; }
#define STRAIGHT(r, c) (c)
#define CROSSED(r, c) ((c) ^ (r))
FLIP(pairs_plain, 32, STRAIGHT)
FLIP(pairs_padded, 33, STRAIGHT)
FLIP(pairs_crossed, 32, CROSSED)
// 13. Rows of 8192 summed by clusters of four with remote loads, or by four CTAs that add to global memory.
extern "C" __global__ __cluster_dims__(4, 1, 1) void fourth_remote(const float4 *R x, float *R y) {
    __shared__ float part[8]; __shared__ float mine; u32 rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); float s = 0;
    const float4 *p = x + blockIdx.x * 512; UNROLL for (int k = 0; k < 2; k++) { float4 v = p[k * 256 + T]; s += v.x + v.y + v.z + v.w; }
    s = cta_sum<256>(s, part); if (!T) mine = s;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (!rank && !T) { float all = 0; UNROLL for (int k = 0; k < 4; k++) { u32 a; float v; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(place(&mine)), "r"(k)); asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(a) : "memory"); all += v; } y[blockIdx.x / 4] = all; }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
K fourth_atomic(const float4 *R x, float *R y) { __shared__ float part[8]; float s = 0; const float4 *p = x + blockIdx.x * 512; UNROLL for (int k = 0; k < 2; k++) { float4 v = p[k * 256 + T]; s += v.x + v.y + v.z + v.w; } s = cta_sum<256>(s, part); if (!T) atomicAdd(y + blockIdx.x / 4, s); }
// 14. Bulk copies of 8 KB in four stages: a warp of its own that fetches, or the first thread of those that compute.
K fetch_apart(const float4 *R x, float4 *R y, int n) {
    extern __shared__ __align__(128) float4 ring[]; __shared__ u64 full[4], empty[4];
    if (!T) for (int k = 0; k < 4; k++) mb_init(full + k, 1), mb_init(empty + k, 4);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    const float4 *p = x + (size_t)blockIdx.x * n * 512;
    if (WARP == 4) { if (!LANE) for (int k = 0; k < n; k++) { int s = k & 3; if (k >= 4) mb_wait(empty + s, (k / 4 - 1) & 1); mb_tx(full + s, 8192); bulk(ring + s * 512, p + k * 512, 8192, full + s); } return; }
    float4 a = make_float4(0, 0, 0, 0);
    for (int k = 0; k < n; k++) { int s = k & 3; mb_wait(full + s, k / 4 & 1); UNROLL for (int j = 0; j < 4; j++) { float4 v = ring[s * 512 + j * 128 + T]; a.x = a.x * .5f + v.x, a.y = a.y * .5f + v.y, a.z = a.z * .5f + v.z, a.w = a.w * .5f + v.w; } __syncwarp(); if (!LANE) mb_arrive(empty + s); }
    y[blockIdx.x * 128 + T] = a;
}
K fetch_first(const float4 *R x, float4 *R y, int n) {
    extern __shared__ __align__(128) float4 ring[]; __shared__ u64 full[4];
    if (!T) for (int k = 0; k < 4; k++) mb_init(full + k, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    const float4 *p = x + (size_t)blockIdx.x * n * 512; float4 a = make_float4(0, 0, 0, 0);
    if (!T) for (int k = 0; k < 3 && k < n; k++) mb_tx(full + k, 8192), bulk(ring + k * 512, p + k * 512, 8192, full + k);
    for (int k = 0; k < n; k++) { int s = k & 3; if (!T && k + 3 < n) { int t = (k + 3) & 3; mb_tx(full + t, 8192); bulk(ring + t * 512, p + (k + 3) * 512, 8192, full + t); } mb_wait(full + s, k / 4 & 1); UNROLL for (int j = 0; j < 4; j++) { float4 v = ring[s * 512 + j * 128 + T]; a.x = a.x * .5f + v.x, a.y = a.y * .5f + v.y, a.z = a.z * .5f + v.z, a.w = a.w * .5f + v.w; } __syncthreads(); }
    y[blockIdx.x * 128 + T] = a;
}
// 15. Blocks of 4 and 6 bits as k-quants have them, to halves: by bytes, by words.
struct Q4 { __half d, m; u8 sc[12]; u8 q[128]; };
__device__ __forceinline__ void scale_min(int j, const u8 *q, int &d, int &m) { if (j < 4) d = q[j] & 63, m = q[j + 4] & 63; else d = (q[j + 4] & 15) | (q[j - 4] >> 6) << 4, m = (q[j + 4] >> 4) | (q[j] >> 6) << 4; }
K q4k_bytes(const Q4 *R x, __half *R y) {
    const Q4 *b = x + blockIdx.x; int il = T / 8, ir = T % 8, is = 2 * il; __half *o = y + blockIdx.x * 256 + 64 * il + 4 * ir; float d = __half2float(b->d), m = __half2float(b->m); int s, z;
    scale_min(is, b->sc, s, z); float d1 = d * s, m1 = m * z; scale_min(is + 1, b->sc, s, z); float d2 = d * s, m2 = m * z;
    UNROLL for (int l = 0; l < 4; l++) { u8 q = b->q[32 * il + 4 * ir + l]; o[l] = __float2half(d1 * (q & 15) - m1), o[l + 32] = __float2half(d2 * (q >> 4) - m2); }
}
K q4k_words(const Q4 *R x, uint2 *R y, int blocks) {
    int w = AT / 32; if (w >= blocks) return; const Q4 *b = x + w; int il = LANE / 8, ir = LANE % 8; float d = __half2float(b->d), m = __half2float(b->m); int s, z;
    scale_min(2 * il, b->sc, s, z); float d1 = d * s, m1 = m * z; scale_min(2 * il + 1, b->sc, s, z); float d2 = d * s, m2 = m * z; u32 q = *(const u32 *)(b->q + 32 * il + 4 * ir);
    __half2 o[4]; UNROLL for (int l = 0; l < 2; l++) { u32 e = q >> l * 16; o[l] = __floats2half2_rn(d1 * (e & 15) - m1, d1 * (e >> 8 & 15) - m1), o[l + 2] = __floats2half2_rn(d2 * (e >> 4 & 15) - m2, d2 * (e >> 12 & 15) - m2); }
    y[w * 64 + 16 * il + ir] = make_uint2(*(u32 *)&o[0], *(u32 *)&o[1]); y[w * 64 + 16 * il + ir + 8] = make_uint2(*(u32 *)&o[2], *(u32 *)&o[3]);
}
struct Q6 { u8 ql[128], qh[64]; signed char sc[16]; __half d; };
K q6k_halves(const Q6 *R x, __half *R y) {
    const Q6 *b = x + blockIdx.x; int ip = T / 32, il = T % 32, is = 8 * ip + il / 16; __half *o = y + blockIdx.x * 256 + 128 * ip + il; float d = __half2float(b->d); const u8 *ql = b->ql + 64 * ip + il; u8 qh = b->qh[32 * ip + il]; const signed char *sc = b->sc + is;
    o[0] = __float2half(d * sc[0] * ((int)((ql[0] & 15) | (qh & 3) << 4) - 32)), o[32] = __float2half(d * sc[2] * ((int)((ql[32] & 15) | (qh >> 2 & 3) << 4) - 32)), o[64] = __float2half(d * sc[4] * ((int)((ql[0] >> 4) | (qh >> 4 & 3) << 4) - 32)), o[96] = __float2half(d * sc[6] * ((int)((ql[32] >> 4) | (qh >> 6) << 4) - 32));
}
// 16. The eight largest of 512: a list a thread kept by insertion, in registers and in local memory; a warp that takes the largest in turn.
K best_registers(const float *R x, float *R y, int n) {
    float a[8]; UNROLL for (int k = 0; k < 8; k++) a[k] = -1e30f;
    for (int i = 0; i < n; i++) { float v = x[i * (gridDim.x * blockDim.x) + AT]; UNROLL for (int k = 0; k < 8; k++) { float m = fmaxf(a[k], v); v = fminf(a[k], v); a[k] = m; } }
    UNROLL for (int k = 0; k < 8; k++) y[k * gridDim.x * blockDim.x + AT] = a[k];
}
K best_local(const float *R x, float *R y, int n, int keep) {
    float a[16]; for (int k = 0; k < keep; k++) a[k] = -1e30f;
    for (int i = 0; i < n; i++) { float v = x[i * (gridDim.x * blockDim.x) + AT]; if (v > a[keep - 1]) { int k = keep - 1; for (; k > 0 && a[k - 1] < v; k--) a[k] = a[k - 1]; a[k] = v; } }
    for (int k = 0; k < keep; k++) y[k * gridDim.x * blockDim.x + AT] = a[k];
}
K best_warp(const float *R x, float *R y, int n) {
    float v[16]; UNROLL for (int k = 0; k < 16; k++) v[k] = x[(AT / 32) * 512 + k * 32 + LANE];
    for (int t = 0; t < 8; t++) { float m = v[0]; UNROLL for (int k = 1; k < 16; k++) m = fmaxf(m, v[k]); float all = m; UNROLL for (int k = 16; k; k /= 2) all = fmaxf(all, __shfl_xor_sync(ALL, all, k)); u32 who = __ballot_sync(ALL, m == all); if (LANE == __ffs(who) - 1) { UNROLL for (int k = 0; k < 16; k++) if (v[k] == all) v[k] = -1e30f; } if (!LANE) y[(AT / 32) * 8 + t] = all; }
}
// 17. A box of 17 along rows: a running sum a thread, direct sums, prefix sums of a warp.
K box_running(const float *R x, float *R y, int w) { int r = AT; float s = 0; for (int k = 0; k < 17; k++) s += x[k * w + r]; for (int k = 0; k < 64; k++) { y[k * w + r] = s; s += x[(k + 17) * w + r] - x[k * w + r]; } }
K box_direct(const float *R x, float *R y, int w) { int r = AT % w, k = AT / w; float s = 0; UNROLL for (int j = 0; j < 17; j++) s += x[(k + j) * w + r]; y[k * w + r] = s; }
// 18. Bodies: from shared memory, by shuffles, straight from global memory.
__device__ __forceinline__ void pull(float3 &a, float4 p, float4 q) { float x = q.x - p.x, y = q.y - p.y, z = q.z - p.z, r = rsqrtf(x * x + y * y + z * z + .01f), f = q.w * r * r * r; a.x += f * x, a.y += f * y, a.z += f * z; }
K pull_shared(const float4 *R x, float4 *R y, int n) { __shared__ float4 t[128]; float4 p = x[AT]; float3 a = {}; for (int k = 0; k < n; k += 128) { t[T] = x[k + T]; __syncthreads(); UNROLL for (int j = 0; j < 128; j += 1) pull(a, p, t[j]); __syncthreads(); } y[AT] = make_float4(a.x, a.y, a.z, p.w); }
K pull_shuffled(const float4 *R x, float4 *R y, int n) { float4 p = x[AT]; float3 a = {}; for (int k = 0; k < n; k += 32) { float4 q = x[k + LANE]; UNROLL for (int j = 0; j < 32; j++) pull(a, p, make_float4(__shfl_sync(ALL, q.x, j), __shfl_sync(ALL, q.y, j), __shfl_sync(ALL, q.z, j), __shfl_sync(ALL, q.w, j))); } y[AT] = make_float4(a.x, a.y, a.z, p.w); }
K pull_global(const float4 *R x, float4 *R y, int n) { float4 p = x[AT]; float3 a = {}; _Pragma("unroll 4") for (int k = 0; k < n; k++) pull(a, p, x[k]); y[AT] = make_float4(a.x, a.y, a.z, p.w); }
// 19. A wave in space of fourth order: planes kept in registers, everything read anew.
#define WAVE(c, l, r, u, d, f, b, l2, r2, u2, d2, f2, b2) (-7.5f * (c) + 1.33f * ((l) + (r) + (u) + (d) + (f) + (b)) - .083f * ((l2) + (r2) + (u2) + (d2) + (f2) + (b2)))
K wave_planes(const float *R x, float *R y, int w, int plane, int depth) {
    __shared__ float t[12][36]; int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP, at = (r + 2) * w + c + 2; float q[5];
    UNROLL for (int k = 0; k < 4; k++) q[k + 1] = x[k * plane + at];
    for (int z = 2; z < depth - 2; z++) {
        UNROLL for (int k = 0; k < 4; k++) q[k] = q[k + 1];
        q[4] = x[(z + 2) * plane + at];
        __syncthreads();
        for (int i = T; i < 12 * 36; i += 256) t[i / 36][i % 36] = x[z * plane + (blockIdx.y * 8 + i / 36) * w + blockIdx.x * 32 + i % 36];
        __syncthreads();
        int i = WARP + 2, j = LANE + 2;
        y[z * plane + at] = WAVE(q[2], t[i][j - 1], t[i][j + 1], t[i - 1][j], t[i + 1][j], q[1], q[3], t[i][j - 2], t[i][j + 2], t[i - 2][j], t[i + 2][j], q[0], q[4]);
    }
}
K wave_anew(const float *R x, float *R y, int w, int plane, int depth) {
    int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP; const float *p = x + (r + 2) * w + c + 2;
    for (int z = 2; z < depth - 2; z++) { const float *o = p + z * plane; y[(o - x)] = WAVE(o[0], o[-1], o[1], o[-w], o[w], o[-plane], o[plane], o[-2], o[2], o[-2 * w], o[2 * w], o[-2 * plane], o[2 * plane]); }
}
// 20. Rows of a table: picked, and their gradients added, by halves and by words.
K table_pick(const uint4 *R x, const int *R id, uint4 *R y, int row) { for (int k = T; k < row; k += 64) y[blockIdx.x * row + k] = x[id[blockIdx.x] * row + k]; }
K table_add_half2(const __half2 *R g, const int *R id, __half2 *y, int row) { for (int k = T; k < row; k += 64) atomicAdd(y + id[blockIdx.x] * row + k, g[blockIdx.x * row + k]); }
K table_add_float(const float *R g, const int *R id, float *y, int row) { for (int k = T; k < row; k += 64) atomicAdd(y + id[blockIdx.x] * row + k, g[blockIdx.x * row + k]); }
// 21. A table of a thread's own: the same place for all lanes, and a place for each.
K table_alike(const u32 *R x, u32 *R y, int n) { u32 a[32], v = x[AT]; for (int k = 0; k < 32; k++) a[k] = v * k; for (int k = 0; k < n; k++) { u32 i = (k * 2654435761u) >> 27; v = v * 5 + a[i]; a[i ^ 5] = v; } y[AT] = v; }
K table_apart(const u32 *R x, u32 *R y, int n) { u32 a[32], v = x[AT]; for (int k = 0; k < 32; k++) a[k] = v * k; for (int k = 0; k < n; k++) { u32 i = (v ^ k) * 2654435761u >> 27; v = v * 5 + a[i]; a[i ^ 5] = v; } y[AT] = v; }
K table_read(const u32 *R x, u32 *R y, int n) { u32 a[32], v = x[AT]; for (int k = 0; k < 32; k++) a[k] = v * k; for (int k = 0; k < n; k++) { u32 i = (v ^ k) * 2654435761u >> 27; v = v * 5 + a[i]; } y[AT] = v; }
// A walk through a tree with a stack of its own.
K stack_walk(const int2 *R tree, const float *R x, float *R y, int n) { int stack[24], top = 0; float s = 0, v = x[AT]; stack[top++] = 0; while (top) { int k = stack[--top]; s += k * v; if (k < n) { int2 c = tree[k]; float f = s - floorf(s); if (f < .8f) stack[top++] = 2 * k + 1 + (c.x & 0); if (f > .25f) stack[top++] = 2 * k + 2 + (c.y & 0); } } y[AT] = s; }
// 22. Calls: by pointer, with a structure in memory, recursive.
typedef float (*Unary)(float);
__device__ __noinline__ float act_relu(float v) { return fmaxf(v, 0.f); }
__device__ __noinline__ float act_silu(float v) { return v / (1 + __expf(-v)); }
__device__ __noinline__ float act_quad(float v) { return v * v * .5f + v; }
K act_pointer(const float *R x, float *R y, int which, int n) { Unary f = which == 0 ? act_relu : which == 1 ? act_silu : act_quad; for (int i = AT; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]); }
K act_switch(const float *R x, float *R y, int which, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) { float v = x[i]; y[i] = which == 0 ? fmaxf(v, 0.f) : which == 1 ? v / (1 + __expf(-v)) : v * v * .5f + v; } }
__device__ __noinline__ u32 ackley(u32 n, u32 s) { return n < 2 ? n + s : ackley(n - 1, s) + ackley(n - 2, s + 1); }
K recursive(const u32 *R x, u32 *R y, int n) { y[AT] = ackley(n, x[AT] & 1); }
// 23. Distances in doubles and floats, exponentials in doubles.
K spread_double(const double *R x, double *R y, int n) { double a = x[AT], s = 0; for (int k = 0; k < n; k++) { double d = a - x[k]; s += rsqrt(d * d + 1e-3); } y[AT] = s; }
K spread_float(const float *R x, float *R y, int n) { float a = x[AT], s = 0; for (int k = 0; k < n; k++) { float d = a - x[k]; s += rsqrtf(d * d + 1e-3f); } y[AT] = s; }
K decay_double(const double *R x, double *R y, int n) { double a = x[AT], s = 0; for (int k = 0; k < n; k++) s += exp(-a * k) * (k + 1); y[AT] = s; }
// 24. e4m3 products of 32x32 a warp, straight from global memory, and through shared memory.
__device__ __forceinline__ void fmma8(float *c, const u32 *a, u32 b0, u32 b1) { asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); }
K e4m3_direct(const u32 *R a, const u32 *R b, float *R c, int n, int k) {
    int m0 = blockIdx.y * 64 + (WARP & 1) * 32, n0 = blockIdx.x * 64 + (WARP >> 1) * 32, g = LANE / 4, q = LANE % 4, w = k / 4; float acc[2][4][4] = {};
    for (int t = 0; t < w; t += 8) { u32 fa[2][4], fb[4][2]; UNROLL for (int i = 0; i < 2; i++) { const u32 *p = a + (m0 + i * 16 + g) * w + t + q; fa[i][0] = p[0], fa[i][1] = p[8 * w], fa[i][2] = p[4], fa[i][3] = p[8 * w + 4]; } UNROLL for (int j = 0; j < 4; j++) { const u32 *p = b + (n0 + j * 8 + g) * w + t + q; fb[j][0] = p[0], fb[j][1] = p[4]; } UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) fmma8(acc[i][j], fa[i], fb[j][0], fb[j][1]); }
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) { float *o = c + (m0 + i * 16 + g) * n + n0 + j * 8 + q * 2; *(float2 *)o = make_float2(acc[i][j][0], acc[i][j][1]); *(float2 *)(o + 8 * n) = make_float2(acc[i][j][2], acc[i][j][3]); }
}
K e4m3_shared(const uint4 *R a, const uint4 *R b, float *R c, int n, int k) {
    __shared__ __align__(16) u8 sa[64][80], sb[64][80]; int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, wm = (WARP & 1) * 32, wn = (WARP >> 1) * 32, w = k / 16; float acc[2][4][4] = {};
    for (int t = 0; t < w; t += 4) {
        uint4 va[2], vb[2]; UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T; va[j] = a[(m0 + i / 4) * w + t + i % 4], vb[j] = b[(n0 + i / 4) * w + t + i % 4]; }
        __syncthreads(); UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T; *(uint4 *)&sa[i / 4][i % 4 * 16] = va[j], *(uint4 *)&sb[i / 4][i % 4 * 16] = vb[j]; } __syncthreads();
        UNROLL for (int h = 0; h < 2; h++) { u32 fa[2][4], fb[2][4]; UNROLL for (int i = 0; i < 2; i++) ldm4(fa[i], &sa[wm + i * 16 + (LANE & 15)][h * 32 + (LANE >> 4) * 16]); UNROLL for (int i = 0; i < 2; i++) ldm4(fb[i], &sb[wn + i * 16 + (LANE & 7) + (LANE >> 4) * 8][h * 32 + (LANE >> 3 & 1) * 16]); UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) fmma8(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]); }
    }
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) { float *o = c + (m0 + wm + i * 16 + LANE / 4) * n + n0 + wn + j * 8 + LANE % 4 * 2; *(float2 *)o = make_float2(acc[i][j][0], acc[i][j][1]); *(float2 *)(o + 8 * n) = make_float2(acc[i][j][2], acc[i][j][3]); }
}
// 25. Attention with heads of 16 and 32: a query a thread with keys in shared memory; four lanes a query.
K heads_thread(const float4 *R q, const float4 *R k, const float4 *R v, float4 *R o, int n) {
    __shared__ float4 sk[64][4], sv[64][4]; int h = blockIdx.x * n; const float4 *p = q + (blockIdx.y * 128 + T + h) * 4; float4 a[4], c[4] = {}; UNROLL for (int i = 0; i < 4; i++) a[i] = p[i]; float m = -1e30f, l = 0;
    for (int t = 0; t < n; t += 64) {
        __syncthreads(); UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T; sk[i / 4][i % 4] = k[(h + t) * 4 + i], sv[i / 4][i % 4] = v[(h + t) * 4 + i]; } __syncthreads();
        for (int j = 0; j < 64; j++) { float s = 0; UNROLL for (int i = 0; i < 4; i++) { float4 w = sk[j][i]; s += a[i].x * w.x + a[i].y * w.y + a[i].z * w.z + a[i].w * w.w; } s *= .25f; float e = fmaxf(m, s), f = __expf(m - e), g = __expf(s - e); l = l * f + g, m = e; UNROLL for (int i = 0; i < 4; i++) { float4 w = sv[j][i]; c[i].x = c[i].x * f + g * w.x, c[i].y = c[i].y * f + g * w.y, c[i].z = c[i].z * f + g * w.z, c[i].w = c[i].w * f + g * w.w; } }
    }
    UNROLL for (int i = 0; i < 4; i++) o[(blockIdx.y * 128 + T + h) * 4 + i] = make_float4(c[i].x / l, c[i].y / l, c[i].z / l, c[i].w / l);
}
K heads_lanes(const float4 *R q, const float4 *R k, const float4 *R v, float4 *R o, int n) {
    int h = blockIdx.x * n, row = blockIdx.y * 32 + T / 4, i = T & 3; float4 a = q[(row + h) * 4 + i], c = {}; float m = -1e30f, l = 0;
    _Pragma("unroll 4") for (int j = 0; j < n; j++) { float4 w = k[(h + j) * 4 + i]; float s = a.x * w.x + a.y * w.y + a.z * w.z + a.w * w.w; s += __shfl_xor_sync(ALL, s, 1), s += __shfl_xor_sync(ALL, s, 2); s *= .25f; float e = fmaxf(m, s), f = __expf(m - e), g = __expf(s - e); l = l * f + g, m = e; w = v[(h + j) * 4 + i]; c.x = c.x * f + g * w.x, c.y = c.y * f + g * w.y, c.z = c.z * f + g * w.z, c.w = c.w * f + g * w.w; }
    o[(row + h) * 4 + i] = make_float4(c.x / l, c.y / l, c.z / l, c.w / l);
}
// 26. A tile of floats written by one TMA copy or read by it, transposed in between.
typedef struct { char b[128]; } __attribute__((aligned(64))) Map;
K map_turn(const __grid_constant__ Map in, float *R y, int h) {
    __shared__ __align__(128) float t[32][32]; __shared__ u64 full; int c = blockIdx.x * 32, r = blockIdx.y * 32;
    if (!T) { mb_init(&full, 1); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); mb_tx(&full, 4096); asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(place(t)), "l"(&in), "r"(c), "r"(r), "r"(place(&full)) : "memory"); }
    __syncthreads(); mb_wait(&full, 0);
    UNROLL for (int k = 0; k < 32; k += 8) y[(c + WARP + k) * h + r + LANE] = t[LANE][WARP + k];
}
K map_sum(const __grid_constant__ Map in, float *R y, int n) {
    __shared__ __align__(128) float t[3][64][32]; __shared__ u64 full[3]; int c = blockIdx.x * 32;
    if (!T) { UNROLL for (int k = 0; k < 3; k++) mb_init(full + k, 1); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
    __syncthreads(); float s = 0;
    auto fetch = [&](int k) { int b = k % 3; mb_tx(full + b, 8192); asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(place(t[b])), "l"(&in), "r"(c), "r"((int)(blockIdx.y * n + k) * 64), "r"(place(full + b)) : "memory"); };
    if (!T) for (int k = 0; k < 2; k++) fetch(k);
    for (int k = 0; k < n; k++) { if (!T && k + 2 < n) fetch(k + 2); mb_wait(full + k % 3, k / 3 & 1); UNROLL for (int j = 0; j < 16; j++) s += t[k % 3][WARP * 16 + j][LANE]; __syncthreads(); }
    y[(blockIdx.y * gridDim.x + blockIdx.x) * 128 + T] = s;
}
