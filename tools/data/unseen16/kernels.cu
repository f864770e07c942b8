// Kernels that people try a model of cycles with, most in two to four ways; to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
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

// 1. f32 products: a tile of 16, 64x64 of which a thread has 4x4 or 8x4, words or fours from shared memory.
K mul_tile16(const float *R a, const float *R b, float *R c, int n) {
    __shared__ float sa[16][16], sb[16][17]; int x = T & 15, y = T >> 4, r = blockIdx.y * 16 + y, q = blockIdx.x * 16 + x; float s = 0;
    for (int k = 0; k < n; k += 16) { sa[y][x] = a[r * n + k + x], sb[y][x] = b[(k + y) * n + q]; __syncthreads(); UNROLL for (int j = 0; j < 16; j++) s += sa[y][j] * sb[j][x]; __syncthreads(); }
    c[r * n + q] = s;
}
K mul_four(const float *R a, const float *R b, float *R c, int n) {
    __shared__ __align__(16) float sa[8][64], sb[8][64]; int x = T & 15, y = T >> 4; float s[4][4] = {};
    for (int k = 0; k < n; k += 8) {
        UNROLL for (int j = 0; j < 2; j++) { int i = j * 256 + T; sa[i & 7][i >> 3] = a[(blockIdx.y * 64 + (i >> 3)) * n + k + (i & 7)]; sb[i >> 6][i & 63] = b[(k + (i >> 6)) * n + blockIdx.x * 64 + (i & 63)]; }
        __syncthreads();
        UNROLL for (int j = 0; j < 8; j++) { float4 u = *(float4 *)&sa[j][y * 4], v = *(float4 *)&sb[j][x * 4]; float p[4] = {u.x, u.y, u.z, u.w}, q[4] = {v.x, v.y, v.z, v.w}; UNROLL for (int e = 0; e < 4; e++) UNROLL for (int f = 0; f < 4; f++) s[e][f] += p[e] * q[f]; }
        __syncthreads();
    }
    UNROLL for (int e = 0; e < 4; e++) *(float4 *)&c[(blockIdx.y * 64 + y * 4 + e) * n + blockIdx.x * 64 + x * 4] = make_float4(s[e][0], s[e][1], s[e][2], s[e][3]);
}
K mul_eight(const float *R a, const float *R b, float *R c, int n) {
    __shared__ float sa[16][65], sb[16][64]; int x = T & 15, y = T >> 4; float s[8][4] = {};
    for (int k = 0; k < n; k += 16) {
        UNROLL for (int j = 0; j < 8; j++) { int i = j * 128 + T; sa[i & 15][i >> 4] = a[(blockIdx.y * 64 + (i >> 4)) * n + k + (i & 15)]; sb[i >> 6][i & 63] = b[(k + (i >> 6)) * n + blockIdx.x * 64 + (i & 63)]; }
        __syncthreads();
        _Pragma("unroll 4") for (int j = 0; j < 16; j++) UNROLL for (int e = 0; e < 8; e++) { float u = sa[j][e * 8 + y]; UNROLL for (int f = 0; f < 4; f++) s[e][f] += u * sb[j][f * 16 + x]; }
        __syncthreads();
    }
    UNROLL for (int e = 0; e < 8; e++) UNROLL for (int f = 0; f < 4; f++) c[(blockIdx.y * 64 + e * 8 + y) * n + blockIdx.x * 64 + f * 16 + x] = s[e][f];
}
// 2. Halves: mma with fragments from global memory, by ldmatrix from tiles that cp.async brings in two or three stages, and wmma.
__device__ __forceinline__ void ldm4(u32 *r, const void *p) { asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(p)) : "memory"); }
__device__ __forceinline__ void hmma(float *c, const u32 *a, u32 b0, u32 b1) { asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); }
template <int S> __device__ __forceinline__ void half_tiles(const __half *a, const __half *b, float *c, int n, int k) {
    extern __shared__ __align__(128) __half tiles[]; __half *sa = tiles, *sb = tiles + S * 64 * 40; int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, wm = (WARP & 1) * 32, wn = (WARP >> 1) * 32; float acc[2][4][4] = {};
    auto load = [&](int s, int t) { UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T, r = i >> 2, q = i & 3; cp16(sa + s * 2560 + r * 40 + q * 8, a + (m0 + r) * k + t * 32 + q * 8); cp16(sb + s * 2560 + r * 40 + q * 8, b + (n0 + r) * k + t * 32 + q * 8); } };
    int count = k / 32; UNROLL for (int s = 0; s < S - 1; s++) { load(s, s); cp_commit(); }
    for (int t = 0, s = 0; t < count; t++) {
        cp_wait<S - 2>(); __syncthreads(); if (t + S - 1 < count) load((s + S - 1) % S, t + S - 1); cp_commit();
        UNROLL for (int h = 0; h < 2; h++) { u32 fa[2][4], fb[2][4];
            UNROLL for (int i = 0; i < 2; i++) ldm4(fa[i], sa + s * 2560 + (wm + i * 16 + (LANE & 15)) * 40 + h * 16 + (LANE >> 4) * 8), ldm4(fb[i], sb + s * 2560 + (wn + i * 16 + (LANE & 7) + (LANE >> 4) * 8) * 40 + h * 16 + (LANE >> 3 & 1) * 8);
            UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) hmma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]); }
        s = s + 1 == S ? 0 : s + 1;
    }
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int j = 0; j < 4; j++) { float *o = c + (m0 + wm + i * 16 + LANE / 4) * n + n0 + wn + j * 8 + LANE % 4 * 2; *(float2 *)o = make_float2(acc[i][j][0], acc[i][j][1]); *(float2 *)(o + 8 * n) = make_float2(acc[i][j][2], acc[i][j][3]); }
}
K half_two(const __half *R a, const __half *R b, float *R c, int n, int k) { half_tiles<2>(a, b, c, n, k); }
K half_three(const __half *R a, const __half *R b, float *R c, int n, int k) { half_tiles<3>(a, b, c, n, k); }
K half_plain(const __half *R a, const __half *R b, float *R c, int n, int k) {
    int m0 = blockIdx.y * 32 + WARP * 16, n0 = blockIdx.x * 32, g = LANE >> 2, q = LANE & 3; float acc[4][4] = {}; const u32 *pa = (const u32 *)a, *pb = (const u32 *)b; int w = k / 2;
    for (int t = 0; t < w; t += 8) { u32 fa[4] = {pa[(m0 + g) * w + t + q], pa[(m0 + g + 8) * w + t + q], pa[(m0 + g) * w + t + q + 4], pa[(m0 + g + 8) * w + t + q + 4]}; UNROLL for (int j = 0; j < 4; j++) hmma(acc[j], fa, pb[(n0 + j * 8 + g) * w + t + q], pb[(n0 + j * 8 + g) * w + t + q + 4]); }
    UNROLL for (int j = 0; j < 4; j++) { float *o = c + (m0 + g) * n + n0 + j * 8 + q * 2; *(float2 *)o = make_float2(acc[j][0], acc[j][1]); *(float2 *)(o + 8 * n) = make_float2(acc[j][2], acc[j][3]); }
}
K half_wmma(const __half *R a, const __half *R b, float *R c, int n, int k) {
    using namespace nvcuda::wmma; __shared__ __align__(32) __half sa[64][24], sb[64][24]; fragment<accumulator, 16, 16, 16, float> d[2]; fill_fragment(d[0], 0.f); fill_fragment(d[1], 0.f); int wm = WARP & 1, wn = WARP >> 1;
    for (int t = 0; t < k; t += 16) {
        __syncthreads(); { int r = T >> 1, h = T & 1; if (r < 64) *(uint4 *)&sa[r][h * 8] = *(const uint4 *)(a + (blockIdx.y * 64 + r) * k + t + h * 8); if (r < 64) *(uint4 *)&sb[r][h * 8] = *(const uint4 *)(b + (blockIdx.x * 64 + r) * k + t + h * 8); }
        __syncthreads(); fragment<matrix_b, 16, 16, 16, __half, col_major> f; load_matrix_sync(f, &sb[wn * 16 % 64][0], 24);
        UNROLL for (int i = 0; i < 2; i++) { fragment<matrix_a, 16, 16, 16, __half, row_major> e; load_matrix_sync(e, &sa[wm * 32 + i * 16][0], 24); mma_sync(d[i], e, f, d[i]); }
    }
    UNROLL for (int i = 0; i < 2; i++) store_matrix_sync(c + (blockIdx.y * 64 + wm * 32 + i * 16) * n + blockIdx.x * 64 + wn * 16 % 64, d[i], n, mem_row_major);
}
// 3. Doubles by FMA and by mma; tf32, e5m2, bits.
K dbl_plain(const double *R a, const double *R b, double *R c, int n) {
    __shared__ double sa[16][16], sb[16][16]; int x = T & 15, y = T >> 4, r = blockIdx.y * 16 + y, q = blockIdx.x * 16 + x; double s = 0;
    for (int k = 0; k < n; k += 16) { sa[y][x] = a[r * n + k + x], sb[y][x] = b[(k + y) * n + q]; __syncthreads(); UNROLL for (int j = 0; j < 16; j++) s += sa[y][j] * sb[j][x]; __syncthreads(); }
    c[r * n + q] = s;
}
K dbl_mma(const double *R a, const double *R b, double *R c, int n) {
    int g = LANE >> 2, q = LANE & 3, m0 = blockIdx.y * 32 + WARP * 8, n0 = blockIdx.x * 32; double d[4][2] = {};
    for (int k = 0; k < n; k += 4) { double u = a[(m0 + g) * n + k + q]; UNROLL for (int j = 0; j < 4; j++) { double v = b[(n0 + j * 8 + g) * n + k + q]; asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[j][0]), "+d"(d[j][1]) : "d"(u), "d"(v)); } }
    UNROLL for (int j = 0; j < 4; j++) *(double2 *)(c + (m0 + g) * n + n0 + j * 8 + q * 2) = make_double2(d[j][0], d[j][1]);
}
K tf_mma(const float *R a, const float *R b, float *R c, int n) {
    __shared__ float sa[32][20], sb[64][20]; int g = LANE >> 2, q = LANE & 3, wm = (WARP & 1) * 16, wn = (WARP >> 1) * 32; float d[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        __syncthreads(); { int r = T >> 2, h = (T & 3) * 4; *(float4 *)&sa[r][h] = *(const float4 *)(a + (blockIdx.y * 32 + r) * n + k + h); UNROLL for (int j = 0; j < 2; j++) *(float4 *)&sb[j * 32 + r][h] = *(const float4 *)(b + (blockIdx.x * 64 + j * 32 + r) * n + k + h); } __syncthreads();
        UNROLL for (int h = 0; h < 16; h += 8) { float u[4] = {sa[wm + g][h + q], sa[wm + g + 8][h + q], sa[wm + g][h + q + 4], sa[wm + g + 8][h + q + 4]};
            UNROLL for (int j = 0; j < 4; j++) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) : "r"(__float_as_uint(u[0])), "r"(__float_as_uint(u[1])), "r"(__float_as_uint(u[2])), "r"(__float_as_uint(u[3])), "r"(__float_as_uint(sb[wn + j * 8 + g][h + q])), "r"(__float_as_uint(sb[wn + j * 8 + g][h + q + 4]))); }
    }
    UNROLL for (int j = 0; j < 4; j++) { float *o = c + (blockIdx.y * 32 + wm + g) * n + blockIdx.x * 64 + wn + j * 8 + q * 2; *(float2 *)o = make_float2(d[j][0], d[j][1]); *(float2 *)(o + 8 * n) = make_float2(d[j][2], d[j][3]); }
}
K e5_mma(const u32 *R a, const u32 *R b, float *R c, int n, int k) {
    int g = LANE >> 2, q = LANE & 3, m0 = blockIdx.y * 64 + WARP * 16, n0 = blockIdx.x * 16, w = k / 4; float d[2][4] = {};
    for (int t = 0; t < w; t += 8) { u32 u[4] = {a[(m0 + g) * w + t + q], a[(m0 + g + 8) * w + t + q], a[(m0 + g) * w + t + q + 4], a[(m0 + g + 8) * w + t + q + 4]};
        UNROLL for (int j = 0; j < 2; j++) asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(b[(n0 + j * 8 + g) * w + t + q]), "r"(b[(n0 + j * 8 + g) * w + t + q + 4])); }
    UNROLL for (int j = 0; j < 2; j++) { float *o = c + (m0 + g) * n + n0 + j * 8 + q * 2; *(float2 *)o = make_float2(d[j][0], d[j][1]); *(float2 *)(o + 8 * n) = make_float2(d[j][2], d[j][3]); }
}
// 4. Sums of a CTA: neighbours first, halves, warps, and integers by redux.
K sum_near(const float *R x, float *R y, int per) { __shared__ float s[256]; float v = 0; for (int k = 0; k < per; k++) v += x[(blockIdx.x * per + k) * 256 + T]; s[T] = v; for (int d = 1; d < 256; d *= 2) { __syncthreads(); if (T % (2 * d) == 0) s[T] += s[T + d]; } if (!T) y[blockIdx.x] = s[0]; }
K sum_halves(const float *R x, float *R y, int per) { __shared__ float s[256]; float v = 0; for (int k = 0; k < per; k++) v += x[(blockIdx.x * per + k) * 256 + T]; s[T] = v; for (int d = 128; d; d /= 2) { __syncthreads(); if (T < d) s[T] += s[T + d]; } if (!T) y[blockIdx.x] = s[0]; }
K sum_warps(const float *R x, float *R y, int per) { __shared__ float s[8]; float v = 0; for (int k = 0; k < per; k++) v += x[(blockIdx.x * per + k) * 256 + T]; v = cta_sum<256>(v, s); if (!T) y[blockIdx.x] = v; }
K most_redux(const u32 *R x, u32 *R y, int per) { u32 v = 0; for (int k = 0; k < per; k++) v = max(v, x[(blockIdx.x * per + k) * 256 + T]); v = __reduce_max_sync(ALL, v); if (!LANE) atomicMax(y + (blockIdx.x & 7), v); }
// 5. Prefix sums of 512 by steps between two arrays, by a tree, by shuffles.
K scan_steps(const float *R x, float *R y) { __shared__ float s[2][512]; int p = 0; s[0][T] = x[AT]; for (int d = 1; d < 512; d *= 2) { __syncthreads(); s[p ^ 1][T] = s[p][T] + (T >= d ? s[p][T - d] : 0); p ^= 1; } y[AT] = s[p][T]; }
K scan_tree(const float *R x, float *R y) {
    __shared__ float s[512]; float2 v = ((const float2 *)x)[AT]; s[2 * T] = v.x, s[2 * T + 1] = v.y; int o = 1;
    for (int d = 256; d; d >>= 1) { __syncthreads(); if (T < d) s[o * (2 * T + 2) - 1] += s[o * (2 * T + 1) - 1]; o *= 2; }
    if (!T) s[511] = 0;
    for (int d = 1; d < 512; d *= 2) { o >>= 1; __syncthreads(); if (T < d) { float t = s[o * (2 * T + 1) - 1]; s[o * (2 * T + 1) - 1] = s[o * (2 * T + 2) - 1]; s[o * (2 * T + 2) - 1] += t; } }
    __syncthreads(); ((float2 *)y)[AT] = make_float2(s[2 * T] + v.x, s[2 * T + 1] + v.y);
}
K scan_lanes(const float *R x, float *R y) { __shared__ float w[16]; float v = x[AT]; UNROLL for (int d = 1; d < 32; d *= 2) { float u = __shfl_up_sync(ALL, v, d); if (LANE >= d) v += u; } if (LANE == 31) w[WARP] = v; __syncthreads(); float b = 0; for (int k = 0; k < WARP; k++) b += w[k]; y[AT] = v + b; }
// 6. Softmax of rows of 1024 in three passes, online, and kept; a layer's norm by sums and by Welford.
K soft_passes(const float *R x, float *R y) {
    __shared__ float p[8]; const float *r = x + blockIdx.x * 1024; float m = -1e30f, s = 0; for (int k = T; k < 1024; k += 256) m = fmaxf(m, r[k]);
    UNROLL for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(ALL, m, d)); if (!LANE) p[WARP] = m; __syncthreads(); UNROLL for (int k = 0; k < 8; k++) m = fmaxf(m, p[k]); __syncthreads();
    for (int k = T; k < 1024; k += 256) s += __expf(r[k] - m); s = 1 / cta_sum<256>(s, p); for (int k = T; k < 1024; k += 256) y[blockIdx.x * 1024 + k] = __expf(r[k] - m) * s;
}
K soft_online(const float *R x, float *R y) {
    const float *r = x + (blockIdx.x * 8 + WARP) * 1024; float m = -1e30f, s = 0; for (int k = LANE; k < 1024; k += 32) { float v = r[k], n = fmaxf(m, v); s = s * __expf(m - n) + __expf(v - n), m = n; }
    UNROLL for (int d = 16; d; d /= 2) { float o = __shfl_xor_sync(ALL, m, d), n = fmaxf(m, o), t = __shfl_xor_sync(ALL, s, d); s = s * __expf(m - n) + t * __expf(o - n), m = n; }
    s = 1 / s; for (int k = LANE; k < 1024; k += 32) y[(blockIdx.x * 8 + WARP) * 1024 + k] = __expf(r[k] - m) * s;
}
K soft_kept(const float4 *R x, float4 *R y) {
    __shared__ float p[8]; float4 v = x[AT]; float m = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); UNROLL for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(ALL, m, d)); if (!LANE) p[WARP] = m; __syncthreads(); UNROLL for (int k = 0; k < 8; k++) m = fmaxf(m, p[k]); __syncthreads();
    v = make_float4(__expf(v.x - m), __expf(v.y - m), __expf(v.z - m), __expf(v.w - m)); float s = 1 / cta_sum<256>(v.x + v.y + v.z + v.w, p); y[AT] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s);
}
K norm_sums(const float *R x, const float *R g, float *R y) { __shared__ float p[8]; float v[4], a = 0, b = 0; UNROLL for (int k = 0; k < 4; k++) v[k] = x[blockIdx.x * 1024 + k * 256 + T], a += v[k]; a = cta_sum<256>(a, p) / 1024; UNROLL for (int k = 0; k < 4; k++) b += (v[k] - a) * (v[k] - a); b = rsqrtf(cta_sum<256>(b, p) / 1024 + 1e-5f); UNROLL for (int k = 0; k < 4; k++) y[blockIdx.x * 1024 + k * 256 + T] = (v[k] - a) * b * g[k * 256 + T]; }
K norm_welford(const float *R x, const float *R g, float *R y) {
    int r = blockIdx.x * 8 + WARP; float m = 0, q = 0, n = 0; for (int k = LANE; k < 1024; k += 32) { float v = x[r * 1024 + k], d = v - m; n += 1, m += d / n, q += d * (v - m); }
    UNROLL for (int d = 16; d; d /= 2) { float om = __shfl_xor_sync(ALL, m, d), oq = __shfl_xor_sync(ALL, q, d), e = om - m; m += e / 2, q += oq + e * e * n / 2, n *= 2; }
    q = rsqrtf(q / 1024 + 1e-5f); for (int k = LANE; k < 1024; k += 32) y[r * 1024 + k] = (x[r * 1024 + k] - m) * q * g[k];
}
// 7. Attention: a thread a query over keys in shared memory, a warp a query with keys by lanes.
K attend_thread(const float4 *R q, const float4 *R k, const float4 *R v, float4 *R o, int n) {
    __shared__ float4 sk[32][4], sv[32][4]; float4 a[4], c[4] = {}; float m = -1e30f, l = 0; UNROLL for (int i = 0; i < 4; i++) a[i] = q[AT * 4 + i];
    for (int t = 0; t < n; t += 32) { __syncthreads(); sk[T >> 2][T & 3] = k[t * 4 + T], sv[T >> 2][T & 3] = v[t * 4 + T]; __syncthreads();
        for (int j = 0; j < 32; j++) { float s = 0; UNROLL for (int i = 0; i < 4; i++) { float4 w = sk[j][i]; s += a[i].x * w.x + a[i].y * w.y + a[i].z * w.z + a[i].w * w.w; } float e = fmaxf(m, s), f = exp2f(m - e), p = exp2f(s - e); l = l * f + p, m = e; UNROLL for (int i = 0; i < 4; i++) { float4 w = sv[j][i]; c[i].x = c[i].x * f + p * w.x, c[i].y = c[i].y * f + p * w.y, c[i].z = c[i].z * f + p * w.z, c[i].w = c[i].w * f + p * w.w; } } }
    UNROLL for (int i = 0; i < 4; i++) o[AT * 4 + i] = make_float4(c[i].x / l, c[i].y / l, c[i].z / l, c[i].w / l);
}
K attend_warp(const float *R q, const float *R k, const float *R v, float *R o, int n) {
    __shared__ float sq[4][64], sp[4][32]; int row = blockIdx.x * 4 + WARP; sq[WARP][LANE] = q[row * 64 + LANE], sq[WARP][LANE + 32] = q[row * 64 + LANE + 32]; __syncwarp(); float m = -1e30f, l = 0, c0 = 0, c1 = 0;
    for (int t = 0; t < n; t += 32) { const float4 *kk = (const float4 *)(k + (t + LANE) * 64); float s = 0; UNROLL for (int i = 0; i < 16; i++) { float4 w = kk[i]; s += sq[WARP][4 * i] * w.x + sq[WARP][4 * i + 1] * w.y + sq[WARP][4 * i + 2] * w.z + sq[WARP][4 * i + 3] * w.w; }
        s *= .125f; float e = s; UNROLL for (int d = 16; d; d /= 2) e = fmaxf(e, __shfl_xor_sync(ALL, e, d)); e = fmaxf(e, m); float f = __expf(m - e), p = __expf(s - e); m = e; l = l * f + warp_sum(p), c0 *= f, c1 *= f; sp[WARP][LANE] = p; __syncwarp();
        _Pragma("unroll 8") for (int j = 0; j < 32; j++) c0 += sp[WARP][j] * v[(t + j) * 64 + LANE], c1 += sp[WARP][j] * v[(t + j) * 64 + LANE + 32]; __syncwarp(); }
    o[row * 64 + LANE] = c0 / l, o[row * 64 + LANE + 32] = c1 / l;
}
// 8. Stencils: nine points from shared memory and from L1; seven points in space; a line that each thread slides along.
K nine_shared(const float *R x, float *R y, int w) { __shared__ float s[10][34]; int c = blockIdx.x * 32, r = blockIdx.y * 8; for (int i = T; i < 340; i += 256) s[i / 34][i % 34] = x[(r + i / 34) * w + c + i % 34]; __syncthreads(); int i = WARP, j = LANE; y[(r + i) * (w - 2) + c + j] = .25f * s[i + 1][j + 1] + .125f * (s[i][j + 1] + s[i + 2][j + 1] + s[i + 1][j] + s[i + 1][j + 2]) + .0625f * (s[i][j] + s[i][j + 2] + s[i + 2][j] + s[i + 2][j + 2]); }
K nine_direct(const float *R x, float *R y, int w) { int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP; const float *p = x + r * w + c; y[r * (w - 2) + c] = .25f * p[w + 1] + .125f * (p[1] + p[2 * w + 1] + p[w] + p[w + 2]) + .0625f * (p[0] + p[2] + p[2 * w] + p[2 * w + 2]); }
K seven_space(const float *R x, float *R y, int w, int h, int d) { int c = blockIdx.x * 32 + LANE + 1, r = blockIdx.y * 4 + WARP + 1, pl = w * h; float b, m = x[r * w + c], f = x[pl + r * w + c]; for (int z = 1; z < d - 1; z++) { int at = z * pl + r * w + c; b = m, m = f, f = x[at + pl]; y[at] = .4f * m + .1f * (b + f + x[at - 1] + x[at + 1] + x[at - w] + x[at + w]); } }
K line_slide(const float *R x, float *R y, int n) { float a = x[AT], b = x[n + AT], c = x[2 * n + AT], d = x[3 * n + AT]; for (int k = 4; k < 36; k++) { float e = x[k * n + AT]; y[(k - 4) * n + AT] = .1f * a + .2f * b + .4f * c + .2f * d + .1f * e; a = b, b = c, c = d, d = e; } }
// 9. Tiles of 32 turned, plain, padded, crossed.
K turn_plain(const float *R x, float *R y, int n) { __shared__ float s[32][32]; int c = blockIdx.x * 32, r = blockIdx.y * 32; UNROLL for (int k = 0; k < 32; k += 8) s[k + WARP][LANE] = x[(r + k + WARP) * n + c + LANE]; __syncthreads(); UNROLL for (int k = 0; k < 32; k += 8) y[(c + k + WARP) * n + r + LANE] = s[LANE][k + WARP]; }
K turn_padded(const float *R x, float *R y, int n) { __shared__ float s[32][33]; int c = blockIdx.x * 32, r = blockIdx.y * 32; UNROLL for (int k = 0; k < 32; k += 8) s[k + WARP][LANE] = x[(r + k + WARP) * n + c + LANE]; __syncthreads(); UNROLL for (int k = 0; k < 32; k += 8) y[(c + k + WARP) * n + r + LANE] = s[LANE][k + WARP]; }
K turn_lone(const float *R x, float *R y, int n) { int c = blockIdx.x * 32, r = blockIdx.y * 32; UNROLL for (int k = 0; k < 32; k += 8) y[(c + LANE) * n + r + k + WARP] = x[(r + k + WARP) * n + c + LANE]; }
// 10. Counts of 256 kinds: in global memory, in shared memory, of a warp's own, alike lanes together.
K count_global(const u32 *R x, u32 *R h, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) atomicAdd(h + (x[i] & 255), 1); }
K count_shared(const u32 *R x, u32 *R h, int n) { __shared__ u32 s[256]; s[T] = 0; __syncthreads(); for (int i = AT; i < n; i += gridDim.x * 256) atomicAdd(s + (x[i] & 255), 1); __syncthreads(); atomicAdd(h + T, s[T]); }
K count_own(const u32 *R x, u32 *R h, int n) { __shared__ u32 s[8][256]; UNROLL for (int k = 0; k < 8; k++) s[k][T] = 0; __syncthreads(); for (int i = AT; i < n; i += gridDim.x * 256) atomicAdd(&s[WARP][x[i] & 255], 1); __syncthreads(); u32 v = 0; UNROLL for (int k = 0; k < 8; k++) v += s[k][T]; atomicAdd(h + T, v); }
K count_alike(const u32 *R x, u32 *R h, int n) { for (int i = AT; i < n; i += gridDim.x * blockDim.x) { u32 b = x[i] & 15, m = __match_any_sync(ALL, b); if (LANE == __ffs(m) - 1) atomicAdd(h + b, __popc(m)); } }
// 11. Sparse rows by a thread, by a warp; coordinates by atomics; rows that are picked.
K sparse_thread(const int *R rp, const int *R ci, const float *R v, const float *R x, float *R y) { int r = AT; float s = 0; for (int k = rp[r]; k < rp[r + 1]; k++) s += v[k] * x[ci[k]]; y[r] = s; }
K sparse_warp(const int *R rp, const int *R ci, const float *R v, const float *R x, float *R y) { int r = AT / 32; float s = 0; for (int k = rp[r] + LANE; k < rp[r + 1]; k += 32) s += v[k] * x[ci[k]]; s = warp_sum(s); if (!LANE) y[r] = s; }
K sparse_places(const int *R r, const int *R c, const float *R v, const float *R x, float *R y) { int i = AT; atomicAdd(y + r[i], v[i] * x[c[i]]); }
K pick_rows(const float4 *R x, const int *R at, float4 *R y) { y[AT] = x[at[AT / 16] * 16 + (T & 15)]; }
// 12. Sorts: a CTA's bitonic one in shared memory, a warp's by shuffles, places of keys by four bits.
K sort_shared(const u32 *R x, u32 *R y) { __shared__ u32 s[512]; s[T] = x[AT]; for (int k = 2; k <= 512; k *= 2) for (int j = k / 2; j; j /= 2) { __syncthreads(); int o = T ^ j; if (o > T) { u32 a = s[T], b = s[o]; if ((a > b) == !(T & k)) s[T] = b, s[o] = a; } } __syncthreads(); y[AT] = s[T]; }
K sort_lanes(const u32 *R x, u32 *R y) { u32 v = x[AT]; UNROLL for (int k = 2; k <= 32; k *= 2) UNROLL for (int j = k / 2; j; j /= 2) { u32 o = __shfl_xor_sync(ALL, v, j); v = (!(LANE & j) == !(LANE & k)) ? min(v, o) : max(v, o); } y[AT] = v; }
K place_four(const u32 *R x, u32 *R y, int shift) { __shared__ u32 s[16][257]; u32 v = x[AT], d = v >> shift & 15; UNROLL for (int k = 0; k < 16; k++) s[k][T] = d == k; __syncthreads(); if (WARP < 8) UNROLL for (int k = 0; k < 2; k++) { u32 *p = s[WARP * 2 + k], c = 0; for (int i = 0; i < 256; i += 32) { u32 w = p[i + LANE], b = __ballot_sync(ALL, w); p[i + LANE] = c + __popc(b & ((1u << LANE) - 1)); c += __popc(b); } if (!LANE) p[256] = c; } __syncthreads(); u32 at = s[d][T]; for (u32 k = 0; k < d; k++) at += s[k][256]; y[blockIdx.x * 256 + at] = v; }
// 13. What does not fit in registers; arrays of a thread's own by an index.
extern "C" __global__ void __launch_bounds__(256, 8) press_spilled(const float *R x, float *R y, int n) { float a[40]; UNROLL for (int k = 0; k < 40; k++) a[k] = x[k * n + AT]; for (int t = 0; t < 6; t++) UNROLL for (int k = 0; k < 40; k++) a[k] = a[k] * .9f + a[(k + 7) % 40] * a[(k + 19) % 40]; UNROLL for (int k = 0; k < 40; k++) y[k * n + AT] = a[k]; }
K press_free(const float *R x, float *R y, int n) { float a[40]; UNROLL for (int k = 0; k < 40; k++) a[k] = x[k * n + AT]; for (int t = 0; t < 6; t++) UNROLL for (int k = 0; k < 40; k++) a[k] = a[k] * .9f + a[(k + 7) % 40] * a[(k + 19) % 40]; UNROLL for (int k = 0; k < 40; k++) y[k * n + AT] = a[k]; }
K heap_local(const u32 *R x, u32 *R y, int n) { u32 h[16]; int c = 0; for (int k = 0; k < 16; k++) h[k] = 0; for (int k = 0; k < n; k++) { u32 v = x[k * gridDim.x * blockDim.x + AT]; int i = v & 15; h[i] += v >> 4; c ^= h[(i * 7 + k) & 15]; } y[AT] = c; }
K heap_shared(const u32 *R x, u32 *R y, int n) { __shared__ u32 h[16][128]; int c = 0; for (int k = 0; k < 16; k++) h[k][T] = 0; for (int k = 0; k < n; k++) { u32 v = x[k * gridDim.x * blockDim.x + AT]; int i = v & 15; h[i][T] += v >> 4; c ^= h[(i * 7 + k) & 15][T]; } y[AT] = c; }
// 14. Constants that all lanes read alike, and each its own.
__constant__ float CO[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5};
K const_alike(const float *R x, float *R y, int n) { float v = x[AT], s = 0; for (int k = 0; k < n; k++) s = s * v + CO[k & 31]; y[AT] = s; }
K const_apart(const float *R x, float *R y, int n) { float v = x[AT], s = 0; for (int k = 0; k < n; k++) s = s * v + CO[(k + T) & 31]; y[AT] = s; }
// 15. Doubles: a root by Newton, a logistic map, sines.
K dbl_root(const double *R x, double *R y, int n) { double v = x[AT] + 2, r = v; for (int k = 0; k < n; k++) r = .5 * (r + v / r); y[AT] = r; }
K dbl_map(const double *R x, double *R y, int n) { double v = x[AT] * .25 + .5; for (int k = 0; k < n; k++) v = 3.7 * v * (1 - v); y[AT] = v; }
K dbl_sine(const double *R x, double *R y) { y[AT] = sin(x[AT]) + cos(x[AT] * 3); }
// 16. Hashes: murmur's mixing, SHA-like rounds, 64-bit products, bits counted.
K hash_mix(const u32 *R x, u32 *R y, int n) { u32 h = x[AT]; for (int k = 0; k < n; k++) { u32 v = k * 0xcc9e2d51u; v = v << 15 | v >> 17; h ^= v * 0x1b873593u; h = h << 13 | h >> 19; h = h * 5 + 0xe6546b64u; } y[AT] = h; }
K hash_rounds(const u32 *R x, u32 *R y) { u32 w[16], a = 1, b = 2, c = 3, d = 4, e = 5; UNROLL for (int k = 0; k < 16; k++) w[k] = x[k * gridDim.x * blockDim.x + AT]; UNROLL for (int k = 0; k < 80; k++) { u32 v = w[k & 15]; if (k >= 16) { v = w[(k - 3) & 15] ^ w[(k - 8) & 15] ^ w[(k - 14) & 15] ^ v; v = v << 1 | v >> 31; w[k & 15] = v; } u32 f = k < 20 ? (b & c) | (~b & d) : k < 40 ? b ^ c ^ d : k < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d; u32 t = (a << 5 | a >> 27) + f + e + v + 0x5a827999u; e = d, d = c, c = b << 30 | b >> 2, b = a, a = t; } y[AT] = a ^ b ^ c ^ d ^ e; }
K hash_wide(const u64 *R x, u64 *R y, int n) { u64 a = x[AT], s = 0; for (int k = 0; k < n; k++) { a += 0x9e3779b97f4a7c15ull; u64 z = a; z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull; z = (z ^ z >> 27) * 0x94d049bb133111ebull; s += __umul64hi(z ^ z >> 31, 1000003ull); } y[AT] = s; }
K bits_near(const u32 *R x, const u32 *R q, u32 *R y, int n) { u32 v[4], best = 999; UNROLL for (int i = 0; i < 4; i++) v[i] = x[AT * 4 + i]; for (int k = 0; k < n; k++) { u32 d = 0; UNROLL for (int i = 0; i < 4; i++) d += __popc(v[i] ^ q[k * 4 + i]); best = min(best, d << 8 | k); } y[AT] = best; }
// 17. CTAs that stay: work by an atomic, by stride; a chain by flags; a barrier of the grid.
K stay_queue(const float *R x, float *R y, u32 *R next, int jobs) { __shared__ u32 j; for (;;) { __syncthreads(); if (!T) j = atomicAdd(next, 1); __syncthreads(); if (j >= jobs) break; float v = x[j * 128 + T]; int c = 20 + (j & 7) * 20; for (int k = 0; k < c; k++) v = v * .99f + .01f; y[j * 128 + T] = v; } }
K stay_stride(const float *R x, float *R y, int jobs) { for (u32 j = blockIdx.x; j < jobs; j += gridDim.x) { float v = x[j * 128 + T]; int c = 20 + (j & 7) * 20; for (int k = 0; k < c; k++) v = v * .99f + .01f; y[j * 128 + T] = v; } }
K chain_flags(const float *R x, float *R y, u32 *R flag) { __shared__ float p[4], before; float v = x[AT], s = warp_sum(v); if (!LANE) p[WARP] = s; __syncthreads(); if (!T) { float b = 0; if (blockIdx.x) { u32 f; do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(flag + blockIdx.x - 1) : "memory"); while (!f); b = *(volatile float *)(y + blockIdx.x - 1); } b += p[0] + p[1] + p[2] + p[3]; *(volatile float *)(y + blockIdx.x) = b; asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag + blockIdx.x), "r"(1) : "memory"); } }
K grid_rounds(float *x, float *y, u32 *count, int rounds) { for (int r = 0; r < rounds; r++) { float *a = r & 1 ? y : x, *b = r & 1 ? x : y; int n = gridDim.x * blockDim.x; b[AT] = .5f * (__ldcg(a + (AT + 1) % n) + __ldcg(a + (AT + n - 1) % n)); __syncthreads(); if (!T) { __threadfence(); atomicAdd(count, 1); u32 v; do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(count) : "memory"); while (v < (r + 1) * gridDim.x); } __syncthreads(); } }
// 18. Clusters of two and four: a sum, values handed around, a histogram that they share.
__device__ __forceinline__ u32 mapa(const void *p, u32 r) { u32 a; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(place(p)), "r"(r)); return a; }
__device__ __forceinline__ float far_load(u32 a) { float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(a) : "memory"); return v; }
__device__ __forceinline__ void cl_sync() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
__device__ __forceinline__ u32 cl_rank() { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
extern "C" __global__ void __cluster_dims__(4, 1, 1) near_sum(const float *R x, float *R y, int per) { __shared__ float p[8], s; float v = 0; for (int k = 0; k < per; k++) v += x[(blockIdx.x * per + k) * 256 + T]; v = cta_sum<256>(v, p); if (!T) s = v; cl_sync(); if (!T && !cl_rank()) { float t = 0; UNROLL for (int k = 0; k < 4; k++) t += far_load(mapa(&s, k)); y[blockIdx.x / 4] = t; } cl_sync(); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) near_swap(const float *R x, float *R y, int n) { __shared__ float s[2][256]; float v = x[AT]; u32 o = mapa(&s[0][T ^ 1], cl_rank() ^ 1); for (int k = 0; k < n; k++) { s[k & 1][T] = v; cl_sync(); v = .5f * (v + far_load(o + (k & 1) * 1024)); } y[AT] = v; cl_sync(); }
extern "C" __global__ void __cluster_dims__(4, 1, 1) near_counts(const u32 *R x, u32 *R h, int per) { __shared__ u32 s[64]; if (T < 64) s[T] = 0; cl_sync(); for (int k = 0; k < per; k++) { u32 v = x[(blockIdx.x * per + k) * 256 + T] & 255; asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(mapa(&s[v & 63], v >> 6)) : "memory"); } cl_sync(); if (T < 64) atomicAdd(h + cl_rank() * 64 + T, s[T]); }
// 19. Pipelines: bulk copies in two and four stages, bulk stores, cp.async in two and four, a warp that fetches for four that work.
template <int S> __device__ __forceinline__ void bulk_line(const float4 *x, float4 *y, int tiles) {
    __shared__ __align__(128) float4 s[S][256]; __shared__ u64 b[S]; if (!T) { UNROLL for (int k = 0; k < S; k++) mb_init(b + k, 1); asm volatile("fence.proxy.async;" ::: "memory"); } __syncthreads(); u64 at = (u64)blockIdx.x * tiles;
    if (!T) for (int k = 0; k < S && k < tiles; k++) mb_tx(b + k, 4096), bulk(s[k], x + (at + k) * 256, 4096, b + k);
    for (int t = 0; t < tiles; t++) { int k = t % S; mb_wait(b + k, t / S & 1); float4 v = s[k][T]; __syncthreads(); if (!T && t + S < tiles) mb_tx(b + k, 4096), bulk(s[k], x + (at + t + S) * 256, 4096, b + k); y[(at + t) * 256 + T] = make_float4(v.x * 2, v.y * 2, v.z + 1, v.w + 1); }
}
K bulk_two(const float4 *R x, float4 *R y, int tiles) { bulk_line<2>(x, y, tiles); }
K bulk_four(const float4 *R x, float4 *R y, int tiles) { bulk_line<4>(x, y, tiles); }
K bulk_out(const float4 *R x, float4 *R y, int tiles) { __shared__ __align__(128) float4 s[2][256]; u64 at = (u64)blockIdx.x * tiles; for (int t = 0; t < tiles; t++) { int k = t & 1; if (!T) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); __syncthreads(); float4 v = x[(at + t) * 256 + T]; s[k][T] = make_float4(v.x * 2, v.y * 2, v.z + 1, v.w + 1); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads(); if (!T) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;\ncp.async.bulk.commit_group;" ::"l"(y + (at + t) * 256), "r"(place(s[k])) : "memory"); } } if (!T) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
template <int S> __device__ __forceinline__ void copy_line(const float4 *x, float4 *y, int tiles) { __shared__ float4 s[S][256]; u64 at = (u64)blockIdx.x * tiles; UNROLL for (int k = 0; k < S - 1; k++) { cp16(&s[k][T], x + (at + k) * 256 + T); cp_commit(); } for (int t = 0; t < tiles; t++) { if (t + S - 1 < tiles) cp16(&s[(t + S - 1) % S][T], x + (at + t + S - 1) * 256 + T); cp_commit(); cp_wait<S - 1>(); float4 v = s[t % S][T]; y[(at + t) * 256 + T] = make_float4(v.x * 2, v.y * 2, v.z + 1, v.w + 1); } }
K copy_two(const float4 *R x, float4 *R y, int tiles) { copy_line<2>(x, y, tiles); }
K copy_four(const float4 *R x, float4 *R y, int tiles) { copy_line<4>(x, y, tiles); }
K copy_none(const float4 *R x, float4 *R y, int tiles) { u64 at = (u64)blockIdx.x * tiles; for (int t = 0; t < tiles; t++) { float4 v = x[(at + t) * 256 + T]; y[(at + t) * 256 + T] = make_float4(v.x * 2, v.y * 2, v.z + 1, v.w + 1); } }
K warp_fetches(const float4 *R x, float *R y, int tiles) {
    __shared__ __align__(128) float4 s[3][128]; __shared__ u64 full[3], empty[3]; if (!T) { UNROLL for (int k = 0; k < 3; k++) mb_init(full + k, 1), mb_init(empty + k, 128); asm volatile("fence.proxy.async;" ::: "memory"); } __syncthreads();
    if (WARP == 4) { if (!LANE) for (int t = 0; t < tiles; t++) { int k = t % 3; if (t >= 3) mb_wait(empty + k, (t / 3 - 1) & 1); mb_tx(full + k, 2048); bulk(s[k], x + ((u64)blockIdx.x * tiles + t) * 128, 2048, full + k); } return; }
    float a = 0; for (int t = 0; t < tiles; t++) { int k = t % 3; mb_wait(full + k, t / 3 & 1); UNROLL for (int j = 0; j < 4; j++) { float4 v = s[k][(T + j * 32) & 127]; a = a * .5f + v.x * v.y - v.z * v.w; } mb_arrive(empty + k); } y[blockIdx.x * 128 + T] = a;
}
// 20. Short ones: a chase, sums of vectors in one to many waves, a saxpy of fours, a reduction of one warp.
K chase(const u32 *R x, u32 *R y, int n) { u32 at = T; for (int k = 0; k < n; k++) at = x[at]; y[T] = at; }
K plus(const float *R a, const float *R b, float *R c) { c[AT] = a[AT] + b[AT]; }
K axpy_fours(const float4 *R a, float4 *b, float s) { float4 v = a[AT], w = b[AT]; b[AT] = make_float4(w.x + s * v.x, w.y + s * v.y, w.z + s * v.z, w.w + s * v.w); }
K gelu_mid(const float *R x, float *R y) { float v = x[AT]; y[AT] = .5f * v * (1 + tanhf(.7978846f * (v + .044715f * v * v * v))); }
K gelu_erf(const float *R x, float *R y) { float v = x[AT]; y[AT] = .5f * v * (1 + erff(v * .70710678f)); }
