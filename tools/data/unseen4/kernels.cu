#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cooperative_groups.h>
#include <cstdint>
#include <mma.h>
using namespace nvcuda;
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
typedef unsigned u32;

__device__ float warp_sum(float v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float block_sum(float v, float *s) {
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    float t = threadIdx.x % 32 < blockDim.x / 32 ? s[threadIdx.x % 32] : 0.f;
    t = warp_sum(t);
    __syncthreads();
    return t;
}

// Attention, 64 queries a CTA, head of 64, f16 with wmma, scores in shared memory.
K attention_wmma(const half *q, const half *k, const half *v, float *o, int keys) {
    __shared__ half Q[64][72], KV[64][72], P[64][72];
    __shared__ float S[64][68];
    __shared__ float most[64], total[64], keep[64];
    int t = threadIdx.x, w = t / 32, heads = blockIdx.y;
    q += (size_t)(heads * gridDim.x + blockIdx.x) * 64 * 64;
    k += (size_t)heads * keys * 64, v += (size_t)heads * keys * 64;
    o += (size_t)(heads * gridDim.x + blockIdx.x) * 64 * 64;
    for (int i = t; i < 512; i += 128) *(uint4 *)&Q[i / 8][i % 8 * 8] = ((const uint4 *)q)[i];
    float acc[32];
    for (int i = 0; i < 32; i++) acc[i] = 0;
    if (t < 64) most[t] = -1e30f, total[t] = 0;
    for (int at = 0; at < keys; at += 64) {
        __syncthreads();
        for (int i = t; i < 512; i += 128) *(uint4 *)&KV[i / 8][i % 8 * 8] = ((const uint4 *)(k + at * 64))[i];
        __syncthreads();
        for (int n = 0; n < 4; n++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
            wmma::fill_fragment(c, 0.f);
            for (int d = 0; d < 4; d++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
                wmma::load_matrix_sync(a, &Q[w * 16][d * 16], 72);
                wmma::load_matrix_sync(b, &KV[n * 16][d * 16], 72);
                wmma::mma_sync(c, a, b, c);
            }
            wmma::store_matrix_sync(&S[w * 16][n * 16], c, 68, wmma::mem_row_major);
        }
        __syncthreads();
        for (int i = t; i < 512; i += 128) *(uint4 *)&KV[i / 8][i % 8 * 8] = ((const uint4 *)(v + at * 64))[i];
        if (t < 64) {
            float m = most[t];
            for (int j = 0; j < 64; j++) m = fmaxf(m, S[t][j] * 0.125f);
            float f = __expf(most[t] - m), s = 0;
            for (int j = 0; j < 64; j++) { float e = __expf(S[t][j] * 0.125f - m); s += e; P[t][j] = __float2half(e); }
            most[t] = m, total[t] = total[t] * f + s, keep[t] = f;
        }
        __syncthreads();
        for (int n = 0; n < 4; n++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
            wmma::fill_fragment(c, 0.f);
            for (int d = 0; d < 4; d++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
                wmma::load_matrix_sync(a, &P[w * 16][d * 16], 72);
                wmma::load_matrix_sync(b, &KV[d * 16][n * 16], 72);
                wmma::mma_sync(c, a, b, c);
            }
            wmma::store_matrix_sync(&S[w * 16][n * 16], c, 68, wmma::mem_row_major);
        }
        __syncwarp();
        for (int i = 0; i < 32; i++) { int r = w * 16 + i / 2, col = i % 2 * 32 + t % 32; acc[i] = acc[i] * keep[r] + S[r][col]; }
    }
    for (int i = 0; i < 32; i++) { int r = w * 16 + i / 2, col = i % 2 * 32 + t % 32; o[r * 64 + col] = acc[i] / total[r]; }
}

// Bytes by bytes with wmma, a scale for each row and column.
K gemm_s8_scaled(const signed char *a, const signed char *b, const float *sa, const float *sb, float *c, int n, int k) {
    __shared__ signed char A[64][80], B[64][80];
    __shared__ int C[64][68];
    int t = threadIdx.x, w = t / 32;
    const signed char *ap = a + (size_t)blockIdx.y * 64 * k, *bp = b + (size_t)blockIdx.x * 64 * k;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc[4];
    for (int i = 0; i < 4; i++) wmma::fill_fragment(acc[i], 0);
    for (int at = 0; at < k; at += 64) {
        for (int i = t; i < 256; i += 128) {
            *(uint4 *)&A[i / 4][i % 4 * 16] = *(const uint4 *)(ap + (size_t)(i / 4) * k + at + i % 4 * 16);
            *(uint4 *)&B[i / 4][i % 4 * 16] = *(const uint4 *)(bp + (size_t)(i / 4) * k + at + i % 4 * 16);
        }
        __syncthreads();
        for (int d = 0; d < 4; d++) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x;
            wmma::load_matrix_sync(x, &A[w * 16][d * 16], 80);
            for (int i = 0; i < 4; i++) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> y;
                wmma::load_matrix_sync(y, &B[i * 16][d * 16], 80);
                wmma::mma_sync(acc[i], x, y, acc[i]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) wmma::store_matrix_sync(&C[w * 16][i * 16], acc[i], 68, wmma::mem_row_major);
    __syncthreads();
    for (int i = t; i < 4096; i += 128) {
        int r = blockIdx.y * 64 + i / 64, q = blockIdx.x * 64 + i % 64;
        c[(size_t)r * n + q] = C[i / 64][i % 64] * sa[r] * sb[q];
    }
}

K ln_backward(const float *x, const float *g, const float *w, float *dx, int n) {
    __shared__ float s[32];
    x += (size_t)blockIdx.x * n, g += (size_t)blockIdx.x * n, dx += (size_t)blockIdx.x * n;
    float sum = 0, sq = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i], sq += x[i] * x[i];
    float mean = block_sum(sum, s) / n, rstd = rsqrtf(block_sum(sq, s) / n - mean * mean + 1e-5f);
    float c1 = 0, c2 = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { float y = (x[i] - mean) * rstd, d = g[i] * w[i]; c1 += y * d, c2 += d; }
    c1 = block_sum(c1, s) / n, c2 = block_sum(c2, s) / n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { float y = (x[i] - mean) * rstd; dx[i] = (g[i] * w[i] - y * c1 - c2) * rstd; }
}

// The eight largest of a row, a warp a row: each lane keeps eight, then they are taken off one by one.
K top8_rows(const float *x, float *out, int *where, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float best[8];
    int at[8];
    for (int i = 0; i < 8; i++) best[i] = -1e30f, at[i] = -1;
    for (int i = lane; i < n; i += 32) {
        float v = x[(size_t)row * n + i];
        if (v > best[7]) {
            int p = i;
            for (int j = 0; j < 8; j++)
                if (v > best[j]) { float b = best[j]; best[j] = v, v = b; int q = at[j]; at[j] = p, p = q; }
        }
    }
    for (int k = 0; k < 8; k++) {
        float m = best[0];
        for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
        int who = __ffs(__ballot_sync(~0u, best[0] == m)) - 1, p = __shfl_sync(~0u, at[0], who);
        if (lane == who) {
            for (int j = 0; j < 7; j++) best[j] = best[j + 1], at[j] = at[j + 1];
            best[7] = -1e30f;
        }
        if (lane == 0) out[row * 8 + k] = m, where[row * 8 + k] = p;
    }
}

K radix_count(const u32 *keys, u32 *counts, int shift, int per) {
    __shared__ u32 c[16];
    if (threadIdx.x < 16) c[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < per; i++) {
        u32 d = keys[(blockIdx.x * per + i) * blockDim.x + threadIdx.x] >> shift & 15;
        u32 peers = __match_any_sync(~0u, d);
        if (__ffs(peers) - 1 == threadIdx.x % 32) atomicAdd(&c[d], __popc(peers));
    }
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}

// A tile of 1024 keys sorted by four bits in shared memory, one bit at a time, and written run by run.
K radix_tile(const u32 *keys, u32 *out, int shift) {
    __shared__ u32 k[1024], sums[8];
    int t = threadIdx.x;
    u32 v[4];
    for (int i = 0; i < 4; i++) v[i] = keys[blockIdx.x * 1024 + t * 4 + i];
    for (int b = shift; b < shift + 4; b++) {
        u32 zeros = 0;
        for (int i = 0; i < 4; i++) zeros += !(v[i] >> b & 1);
        u32 scan = zeros;
        for (int o = 1; o < 32; o *= 2) { u32 up = __shfl_up_sync(~0u, scan, o); if (t % 32 >= o) scan += up; }
        if (t % 32 == 31) sums[t / 32] = scan;
        __syncthreads();
        u32 before = 0, all = 0;
        for (int w = 0; w < 8; w++) { if (w < t / 32) before += sums[w]; all += sums[w]; }
        u32 z = before + scan - zeros, one = all + t * 4 - z;
        for (int i = 0; i < 4; i++) k[v[i] >> b & 1 ? one++ : z++] = v[i];
        __syncthreads();
        for (int i = 0; i < 4; i++) v[i] = k[t * 4 + i];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) out[blockIdx.x * 1024 + i * 256 + t] = k[i * 256 + t];
}

K stencil_plane(const float *a, float *b, int n, int depth) {
    __shared__ float s[10][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    size_t plane = (size_t)n * n, at = (size_t)y * n + x;
    float below = 0, here = a[at], above = a[at + plane];
    for (int z = 0; z < depth; z++) {
        s[ly][lx] = here;
        if (threadIdx.x == 0) s[ly][0] = x ? a[at + z * plane - 1] : 0;
        if (threadIdx.x == 31) s[ly][33] = x < n - 1 ? a[at + z * plane + 1] : 0;
        if (threadIdx.y == 0) s[0][lx] = y ? a[at + z * plane - n] : 0;
        if (threadIdx.y == 7) s[9][lx] = y < n - 1 ? a[at + z * plane + n] : 0;
        __syncthreads();
        b[at + z * plane] = 0.5f * here + 0.1f * (below + above + s[ly][lx - 1] + s[ly][lx + 1] + s[ly - 1][lx] + s[ly + 1][lx]);
        below = here, here = above, above = z + 2 < depth ? a[at + (z + 2) * plane] : 0;
        __syncthreads();
    }
}

K stencil_direct(const float *a, float *b, int n, int depth) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    size_t plane = (size_t)n * n, at = (size_t)y * n + x;
    for (int z = 0; z < depth; z++, at += plane) {
        float sum = (z ? a[at - plane] : 0) + (z + 1 < depth ? a[at + plane] : 0);
        sum += (x ? a[at - 1] : 0) + (x < n - 1 ? a[at + 1] : 0) + (y ? a[at - n] : 0) + (y < n - 1 ? a[at + n] : 0);
        b[at] = 0.5f * a[at] + 0.1f * sum;
    }
}

// 1024 points, radix 4, a CTA of 256 a transform.
K fft1024(const float2 *in, float2 *out) {
    __shared__ float2 s[1024];
    int t = threadIdx.x;
    float2 v[4];
    for (int i = 0; i < 4; i++) v[i] = in[blockIdx.x * 1024 + i * 256 + t];
    for (int ns = 1; ns < 1024; ns *= 4) {
        int k = t % ns;
        float a = -6.283185307f * k / (4 * ns);
        for (int i = 1; i < 4; i++) {
            float c, sn;
            __sincosf(a * i, &sn, &c);
            v[i] = make_float2(v[i].x * c - v[i].y * sn, v[i].x * sn + v[i].y * c);
        }
        float2 p = {v[0].x + v[2].x, v[0].y + v[2].y}, q = {v[0].x - v[2].x, v[0].y - v[2].y};
        float2 r = {v[1].x + v[3].x, v[1].y + v[3].y}, u = {v[1].y - v[3].y, v[3].x - v[1].x};
        v[0] = {p.x + r.x, p.y + r.y}, v[1] = {q.x + u.x, q.y + u.y}, v[2] = {p.x - r.x, p.y - r.y}, v[3] = {q.x - u.x, q.y - u.y};
        int to = t / ns * ns * 4 + k;
        for (int i = 0; i < 4; i++) s[to + i * ns] = v[i];
        __syncthreads();
        for (int i = 0; i < 4; i++) v[i] = s[i * 256 + t];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) out[blockIdx.x * 1024 + i * 256 + t] = v[i];
}

// Sparse rows by a dense matrix of 64 columns, a warp a row.
K spmm_rows(const int *rp, const int *ci, const float *va, const float2 *b, float2 *c, int rows) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    float2 s = {0, 0};
    for (int i = rp[r]; i < rp[r + 1]; i++) {
        float a = va[i];
        float2 x = b[ci[i] * 32 + lane];
        s.x += a * x.x, s.y += a * x.y;
    }
    c[r * 32 + lane] = s;
}

K coo_add(const int *row, const int *col, const float *va, const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&y[row[i]], va[i] * x[col[i]]);
}

__device__ u32 mix(u32 h) { h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; return h ^ h >> 16; }
// A table of perm values at places of their hash: looked for from there on.
K probe_join(const u32 *table, const u32 *keys, u32 *found, int mask, int per) {
    u32 hits = 0, steps = 0;
    for (int i = 0; i < per; i++) {
        u32 k = keys[(blockIdx.x * per + i) * blockDim.x + threadIdx.x] & mask;
        u32 at = mix(k) & mask;
        for (int j = 0; j < 12; j++, at = (at + 1) & mask) {
            u32 e = table[at];
            steps++;
            if ((e & 255) == (k & 255)) { hits++; break; }
        }
    }
    found[blockIdx.x * blockDim.x + threadIdx.x] = hits * 1000 + steps;
}

K philox_normal(float4 *out, u32 key, int per) {
    for (int i = 0; i < per; i++) {
        u32 n = (blockIdx.x * per + i) * blockDim.x + threadIdx.x;
        u32 c0 = n, c1 = 0, c2 = 7, c3 = 9, k0 = key, k1 = key ^ 0x55555555;
        for (int r = 0; r < 10; r++) {
            u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
            c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
            k0 += 0x9E3779B9, k1 += 0xBB67AE85;
        }
        float a = sqrtf(-2 * __logf((c0 + 1.f) * 2.3283064e-10f)), b = sqrtf(-2 * __logf((c2 + 1.f) * 2.3283064e-10f)), s, c, u, v;
        __sincosf(c1 * 1.4629180e-9f, &s, &c), __sincosf(c3 * 1.4629180e-9f, &u, &v);
        out[n] = make_float4(a * c, a * s, b * v, b * u);
    }
}

__device__ u32 smem(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(u32 bar, u32 parity) {
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra D; bra L; D: }" ::"r"(bar), "r"(parity) : "memory");
}
// Three streams through four stages of bulk copies; one thread asks for them.
template <int BYTES> __device__ void bulk_axpy(const float *x, const float *y, float *o, int tiles) {
    extern __shared__ __align__(128) char buffer[];
    __shared__ __align__(8) unsigned long long full[4];
    int t = threadIdx.x;
    if (t == 0) for (int s = 0; s < 4; s++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(smem(&full[s])));
    if (t == 0) asm volatile("fence.mbarrier_init.release.cluster;");
    __syncthreads();
    auto ask = [&](int i) {
        size_t at = (size_t)(blockIdx.x + i * gridDim.x) * (BYTES / 4);
        u32 s = smem(buffer + (i % 4) * 2 * BYTES), bar = smem(&full[i % 4]);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(2 * BYTES) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(s), "l"(x + at), "r"(BYTES), "r"(bar) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(s + BYTES), "l"(y + at), "r"(BYTES), "r"(bar) : "memory");
    };
    if (t == 0) for (int i = 0; i < 4 && i < tiles; i++) ask(i);
    for (int i = 0; i < tiles; i++) {
        wait(smem(&full[i % 4]), i / 4 & 1);
        float4 *a = (float4 *)(buffer + (i % 4) * 2 * BYTES), *b = a + BYTES / 16;
        float4 *to = (float4 *)(o + (size_t)(blockIdx.x + i * gridDim.x) * (BYTES / 4));
        for (int j = t; j < BYTES / 16; j += blockDim.x) {
            float4 p = a[j], q = b[j];
            to[j] = make_float4(2 * p.x + q.x, 2 * p.y + q.y, 2 * p.z + q.z, 2 * p.w + q.w);
        }
        __syncthreads();
        if (t == 0 && i + 4 < tiles) ask(i + 4);
    }
}
K bulk_axpy2k(const float *x, const float *y, float *o, int tiles) { bulk_axpy<2048>(x, y, o, tiles); }
K bulk_axpy8k(const float *x, const float *y, float *o, int tiles) { bulk_axpy<8192>(x, y, o, tiles); }

// Softmax of rows of 8192, a cluster of four a row.
K __cluster_dims__(4) cluster_softmax(const float *x, float *y) {
    __shared__ float s[32], part[2];
    cg::cluster_group c = cg::this_cluster();
    int row = blockIdx.x / 4, rank = c.block_rank();
    const float4 *in = (const float4 *)(x + (size_t)row * 8192 + rank * 2048);
    float4 v[2];
    float m = -1e30f;
    for (int i = 0; i < 2; i++) { v[i] = in[i * 256 + threadIdx.x]; m = fmaxf(m, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w))); }
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    for (int i = 0; i < 8; i++) m = fmaxf(m, s[i]);
    __syncthreads();
    if (threadIdx.x == 0) part[0] = m;
    c.sync();
    for (int r = 0; r < 4; r++) m = fmaxf(m, *c.map_shared_rank(&part[0], r));
    float e = 0;
    for (int i = 0; i < 2; i++) { v[i].x = __expf(v[i].x - m), v[i].y = __expf(v[i].y - m), v[i].z = __expf(v[i].z - m), v[i].w = __expf(v[i].w - m); e += v[i].x + v[i].y + v[i].z + v[i].w; }
    e = block_sum(e, s);
    if (threadIdx.x == 0) part[1] = e;
    c.sync();
    float all = 0;
    for (int r = 0; r < 4; r++) all += *c.map_shared_rank(&part[1], r);
    for (int i = 0; i < 2; i++) ((float4 *)(y + (size_t)row * 8192 + rank * 2048))[i * 256 + threadIdx.x] = make_float4(v[i].x / all, v[i].y / all, v[i].z / all, v[i].w / all);
    c.sync();
}

K embedding_bag(const float4 *table, const int *index, float4 *out, int bag, int rows) {
    int b = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 s = {0, 0, 0, 0};
    for (int i = 0; i < bag; i++) {
        float4 v = table[(size_t)(index[b * bag + i] % rows) * 32 + lane];
        s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
    }
    out[b * 32 + lane] = make_float4(s.x / bag, s.y / bag, s.z / bag, s.w / bag);
}

K rope_halves(const half2 *q, half2 *o, int heads, int pairs) {
    int token = blockIdx.x;
    for (int i = threadIdx.x; i < heads * pairs; i += blockDim.x) {
        float f = token * exp2f(-13.287712f * (i % pairs) / pairs), s, c;
        sincosf(f, &s, &c);
        float2 v = __half22float2(q[(size_t)token * heads * pairs + i]);
        o[(size_t)token * heads * pairs + i] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
    }
}

K causal_conv4(const float *x, const float *w, float *y, int channels, int steps) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    x += (size_t)blockIdx.y * steps * channels + c, y += (size_t)blockIdx.y * steps * channels + c;
    float w0 = w[c * 4], w1 = w[c * 4 + 1], w2 = w[c * 4 + 2], w3 = w[c * 4 + 3], a = 0, b = 0, d = 0;
    for (int t = 0; t < steps; t++) {
        float e = x[(size_t)t * channels], s = w0 * a + w1 * b + w2 * d + w3 * e;
        y[(size_t)t * channels] = s / (1 + __expf(-s));
        a = b, b = d, d = e;
    }
}

K argmax_row(const float *x, int *out, int n) {
    __shared__ unsigned long long s[32];
    unsigned long long best = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        u32 u = __float_as_uint(x[(size_t)blockIdx.x * n + i]);
        u = u & 0x80000000 ? ~u : u | 0x80000000;
        unsigned long long v = (unsigned long long)u << 32 | (u32)~i;
        if (v > best) best = v;
    }
    for (int o = 16; o; o /= 2) { unsigned long long v = __shfl_down_sync(~0u, best, o); if (v > best) best = v; }
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++) if (s[w] > best) best = s[w];
        out[blockIdx.x] = ~(u32)best;
    }
}

K bitonic_block(const u32 *in, u32 *out) {
    __shared__ u32 s[1024];
    int t = threadIdx.x;
    for (int i = t; i < 1024; i += 512) s[i] = in[blockIdx.x * 1024 + i];
    for (int k = 2; k <= 1024; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (j - 1));
            u32 a = s[i], b = s[i + j];
            if ((a > b) == !(i & k)) s[i] = b, s[i + j] = a;
        }
    __syncthreads();
    for (int i = t; i < 1024; i += 512) out[blockIdx.x * 1024 + i] = s[i];
}

// A scan that begins anew where the low bits of a key are zero.
K segment_scan(const float *x, const u32 *key, float *y, int per) {
    int lane = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    float carry = 0;
    for (int i = 0; i < per; i++) {
        int at = (w * per + i) * 32 + lane;
        float v = x[at];
        u32 heads = __ballot_sync(~0u, !(key[at] & 7)), mine = heads & (2u << lane) - 1;
        int first = mine ? 31 - __clz(mine) : -1;
        for (int o = 1; o < 32; o *= 2) { float u = __shfl_up_sync(~0u, v, o); if (lane - o >= max(first, 0)) v += u; }
        if (first < 0) v += carry;
        y[at] = v;
        carry = __shfl_sync(~0u, v, 31);
    }
}

K adamw(float4 *p, const float4 *g, float4 *m, float4 *v, float rate, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = p[i], b = g[i], c = m[i], d = v[i];
        float *pa = &a.x, *pb = &b.x, *pc = &c.x, *pd = &d.x;
        for (int j = 0; j < 4; j++) {
            pc[j] = 0.9f * pc[j] + 0.1f * pb[j], pd[j] = 0.999f * pd[j] + 0.001f * pb[j] * pb[j];
            pa[j] -= rate * (pc[j] / (sqrtf(pd[j]) + 1e-8f) + 0.01f * pa[j]);
        }
        p[i] = a, m[i] = c, v[i] = d;
    }
}

K cross_entropy(const float *x, const int *label, float *loss, int n) {
    __shared__ float s[32];
    const float4 *row = (const float4 *)(x + (size_t)blockIdx.x * n);
    float m = -1e30f, e = 0;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        float4 v = row[i];
        float big = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        if (big > m) e *= __expf(m - big), m = big;
        e += __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
    }
    float all = m;
    for (int o = 16; o; o /= 2) all = fmaxf(all, __shfl_xor_sync(~0u, all, o));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = all;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; w++) all = fmaxf(all, s[w]);
    __syncthreads();
    e = block_sum(e * __expf(m - all), s);
    if (threadIdx.x == 0) loss[blockIdx.x] = __logf(e) + all - x[(size_t)blockIdx.x * n + label[blockIdx.x] % n];
}

K lattice_d2q9(const float *f, float *g, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float w[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    float v[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        v[i] = f[(size_t)i * n * n + ((y - cy[i] + n) % n) * n + (x - cx[i] + n) % n];
        rho += v[i], ux += v[i] * cx[i], uy += v[i] * cy[i];
    }
    ux /= rho, uy /= rho;
    float u2 = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        float cu = 3 * (cx[i] * ux + cy[i] * uy);
        g[(size_t)i * n * n + y * n + x] = v[i] + 0.6f * (w[i] * rho * (1 + cu + 0.5f * cu * cu - u2) - v[i]);
    }
}

K bodies_tile(const float4 *p, float4 *a, int n) {
    __shared__ float4 s[128];
    float4 me = p[blockIdx.x * 128 + threadIdx.x];
    float ax = 0, ay = 0, az = 0;
    for (int at = 0; at < n; at += 128) {
        s[threadIdx.x] = p[at + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; j++) {
            float4 b = s[j];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), k = b.w * r * r * r;
            ax += k * dx, ay += k * dy, az += k * dz;
        }
        __syncthreads();
    }
    a[blockIdx.x * 128 + threadIdx.x] = make_float4(ax, ay, az, 0);
}

// Codes of 1 to 8 bits by a table of 256 in shared memory: length in the low four bits.
K bits_decode(const u32 *bits, u32 *sums, int words) {
    __shared__ unsigned short table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = (unsigned short)((i * 37 & 255) << 4 | (1 + __popc(i * 11 & 127)));
    __syncthreads();
    const u32 *in = bits + (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * words;
    unsigned long long window = in[0];
    int have = 32, at = 1;
    u32 sum = 0;
    while (at < words || have >= 8) {
        if (have < 32 && at < words) window |= (unsigned long long)in[at++] << have, have += 32;
        u32 e = table[window & 255], n = e & 15;
        sum = sum * 31 + (e >> 4), window >>= n, have -= n;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__constant__ u32 K256[64] = {0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};
__device__ u32 rot(u32 x, int n) { return __funnelshift_r(x, x, n); }
K sha256_blocks(const u32 *in, u32 *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 w[16], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 16; i++) w[i] = in[i * gridDim.x * blockDim.x + t];
#pragma unroll 16
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            u32 a = w[(i + 1) & 15], b = w[(i + 14) & 15];
            w[i & 15] += (rot(a, 7) ^ rot(a, 18) ^ a >> 3) + w[(i + 9) & 15] + (rot(b, 17) ^ rot(b, 19) ^ b >> 10);
        }
        u32 x = s[7] + (rot(s[4], 6) ^ rot(s[4], 11) ^ rot(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K256[i] + w[i & 15];
        u32 y = (rot(s[0], 2) ^ rot(s[0], 13) ^ rot(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + x, s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = x + y;
    }
    for (int i = 0; i < 8; i++) out[i * gridDim.x * blockDim.x + t] = s[i];
}

// Bytes e4m3 by a vector of halves, a warp a row.
K gemv_e4m3(const uint4 *w, const half *x, float *y, int k) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float s = 0;
    for (int i = lane; i < k / 16; i += 32) {
        uint4 v = w[(size_t)row * (k / 16) + i];
        const __nv_fp8x2_e4m3 *p = (const __nv_fp8x2_e4m3 *)&v;
        const half2 *h = (const half2 *)(x + i * 16);
#pragma unroll
        for (int j = 0; j < 8; j++) { float2 a = (float2)p[j], b = __half22float2(h[j]); s += a.x * b.x + a.y * b.y; }
    }
    s = warp_sum(s);
    if (lane == 0) y[row] = s;
}

K sobel_bytes(const uchar4 *in, uchar4 *out, int w4) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int p[3][6];
    for (int r = 0; r < 3; r++) {
        int yy = min(max(y + r - 1, 0), (int)gridDim.y * 8 - 1);
        uchar4 a = in[yy * w4 + max(x - 1, 0)], b = in[yy * w4 + x], c = in[yy * w4 + min(x + 1, w4 - 1)];
        p[r][0] = a.w, p[r][1] = b.x, p[r][2] = b.y, p[r][3] = b.z, p[r][4] = b.w, p[r][5] = c.x;
    }
    unsigned char o[4];
    for (int i = 0; i < 4; i++) {
        int gx = p[0][i + 2] + 2 * p[1][i + 2] + p[2][i + 2] - p[0][i] - 2 * p[1][i] - p[2][i];
        int gy = p[2][i] + 2 * p[2][i + 1] + p[2][i + 2] - p[0][i] - 2 * p[0][i + 1] - p[0][i + 2];
        o[i] = min(255, abs(gx) + abs(gy));
    }
    out[y * w4 + x] = make_uchar4(o[0], o[1], o[2], o[3]);
}

// Solves with 32 x 32 matrices in shared memory, four warps a CTA.
K solve32(const float *a, const float *b, float *x) {
    __shared__ float m[4][32][33];
    int w = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.x * 4 + w;
    for (int r = 0; r < 32; r++) m[w][r][lane] = a[(n * 32 + r) * 32 + lane] + (r == lane ? 16.f : 0.f);
    float y = b[n * 32 + lane];
    __syncwarp();
    for (int k = 0; k < 32; k++) {
        float f = m[w][lane][k] / m[w][k][k], yk = __shfl_sync(~0u, y, k);
        if (lane != k) {
            for (int j = k + 1; j < 32; j++) m[w][lane][j] -= f * m[w][k][j];
            y -= f * yk;
        }
        __syncwarp();
    }
    x[n * 32 + lane] = y / m[w][lane][lane];
}

K bincount_match(const u32 *key, u32 *count, u32 mask, int per) {
    for (int i = 0; i < per; i++) {
        u32 k = key[(blockIdx.x * per + i) * blockDim.x + threadIdx.x] & mask, peers = __match_any_sync(~0u, k);
        if (__ffs(peers) - 1 == threadIdx.x % 32) atomicAdd(&count[k], __popc(peers));
    }
}
K bincount_plain(const u32 *key, u32 *count, u32 mask, int per) {
    for (int i = 0; i < per; i++) atomicAdd(&count[key[(blockIdx.x * per + i) * blockDim.x + threadIdx.x] & mask], 1u);
}
