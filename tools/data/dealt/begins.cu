// As tl2.cu, but what waits until all is over is a barrier, for a warp that computes; every SM is recorded.
typedef unsigned u32;
#define K extern "C" __global__ void
__device__ __forceinline__ u32 now() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ __forceinline__ u32 wants(u32 v) { asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0x12345; @p exit; }" :: "r"(v) : "memory"); return v; }
__device__ __forceinline__ void note(u32 *out, u32 a, u32 b, u32 c, u32 extra) {
    if (threadIdx.x < 32) { float v = a; for (int i = 0; i < 400; i++) v = rsqrtf(v) + 1; if (v == 0.12345f) out[1] = 0; }
    __syncthreads();
    u32 sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x % 32 == 0) {
        u32 w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        out[w * 4] = (sm + 1) | (extra == 12345678u) << 20, out[w * 4 + 1] = a, out[w * 4 + 2] = b, out[w * 4 + 3] = c;
    }
}
#define ARGS const float *__restrict__ x, float *__restrict__ y, u32 *out, int n
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
K u_copy(ARGS) { u32 a = now(), i = AT; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); note(out, a, c, d, g); }
K u_read(ARGS) { u32 a = now(), i = AT; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); note(out, a, c, c, g); }
K u_write(ARGS) { u32 a = now(), i = AT; y[i] = i; u32 d = now(); note(out, a, a, d, i); }
K u_back(ARGS) { u32 a = now(), i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); note(out, a, c, d, g); }
K u_same(ARGS) { u32 a = now(), i = (blockIdx.x % 132) * blockDim.x + threadIdx.x; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); note(out, a, c, d, g); }
K u_copy4(const float4 *__restrict__ x, float4 *__restrict__ y, u32 *out, int n) { u32 a = now(), i = AT; float4 f = x[i]; u32 g = wants(__float_as_uint(f.x + f.y + f.z + f.w)), c = now(); y[i] = f; u32 d = now(); note(out, a, c, d, g); }
K u_two(ARGS) { u32 a = now(), i = AT, m = gridDim.x * blockDim.x; float f = x[i] + x[i + m]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); note(out, a, c, d, g); }
K u_five(ARGS) { u32 a = now(), i = AT + 512; float f = x[i] + x[i - 1] + x[i + 1] + x[i - 512] + x[i + 512]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); note(out, a, c, d, g); }
K u_none(ARGS) { u32 a = now(); note(out, a, a, a, 0); }
K u_index(ARGS) { u32 a = now(), i = wants(AT), b = now(); note(out, a, b, b, i); }
K u_special8(ARGS) {
    u32 a = now(), l, w; asm volatile("mov.u32 %0, %%laneid;" : "=r"(l)); asm volatile("mov.u32 %0, %%warpid;" : "=r"(w));
    u32 k = wants(blockIdx.x + threadIdx.x * 3 + blockIdx.y * 5 + threadIdx.y * 7 + l * 11 + blockIdx.z * 5 + threadIdx.z * 7 + w * 11), b = now(); note(out, a, b, b, k);
}
K u_bound(ARGS) { u32 a = now(), i = AT, b = a, c = a; if (i < n) { float f = x[i]; u32 g = wants(__float_as_uint(f)); b = now(); y[i] = 2 * __uint_as_float(g); c = now(); } note(out, a, b, c, i); }
// Stamps written at once, as CTAs end: x_; and the load without the branch on it.
__device__ __forceinline__ void at_once(u32 *out, u32 a, u32 b, u32 c) {
    u32 sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm % 12 == 0 && threadIdx.x % 32 == 0) { u32 w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; *(uint4 *)(out + w * 4) = make_uint4(sm + 1, a, b, c); }
}
K x_copy(ARGS) { u32 a = now(), i = AT; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); at_once(out, a, c, d); }
K x_read(ARGS) { u32 a = now(), i = AT; float f = x[i]; u32 g = wants(__float_as_uint(f)), c = now(); at_once(out, a, c, c); }
K x_two(ARGS) { u32 a = now(), i = AT, m = gridDim.x * blockDim.x; float f = x[i] + x[i + m]; u32 g = wants(__float_as_uint(f)), c = now(); y[i] = __uint_as_float(g); u32 d = now(); at_once(out, a, c, d); }
K x_write(ARGS) { u32 a = now(), i = AT; y[i] = i; u32 d = now(); at_once(out, a, a, d); }
// What the store is of is not waited for before the clock is read.
K v_copy(ARGS) { u32 a = now(), i = AT; y[i] = 2 * x[i]; u32 d = now(); note(out, a, d, d, i); }
// Plain ones, as users write them, for cycles of the whole launch.
K p_copy(ARGS) { u32 i = AT; y[i] = 2 * x[i]; }
K p_bound(ARGS) { u32 i = AT; if (i < n) y[i] = 2 * x[i]; }
K p_read(ARGS) { u32 i = AT; float v = x[i]; if (v == 1.2345f) y[i] = v; }
K p_two(ARGS) { u32 i = AT, m = gridDim.x * blockDim.x; y[i] = x[i] + x[i + m]; }
K p_copy4(const float4 *__restrict__ x, float4 *__restrict__ y, u32 *out, int n) { u32 i = AT; y[i] = x[i]; }

// Special registers that only the uniform datapath takes, and constants of four lines.
K s_uniform1(ARGS) { u32 t = threadIdx.x; if (t * blockIdx.x == 12345678) out[0] = 1; }
K s_uniform2(ARGS) { u32 t = threadIdx.x; if ((t * blockIdx.x + 5) * blockIdx.y == 12345678) out[0] = 1; }
K s_uniform3(ARGS) { u32 t = threadIdx.x; if (((t * blockIdx.x + 5) * blockIdx.y + 7) * blockIdx.z == 12345678) out[0] = 1; }
K s_index(ARGS) { u32 t = threadIdx.x; if (blockDim.x * blockIdx.x + t == 12345678) out[0] = 1; }
K s_index2(ARGS) { u32 t = threadIdx.x; if ((blockDim.x * blockIdx.x + t) * (blockDim.y * blockIdx.y + threadIdx.y) == 12345678) out[0] = 1; }
struct Many { int v[256]; };
K c_lines1(Many m, u32 *out) { u32 t = threadIdx.x; if (t * m.v[0] == 12345678) out[0] = 1; }
K c_lines2(Many m, u32 *out) { u32 t = threadIdx.x; if (t * m.v[0] + m.v[16] == 12345678) out[0] = 1; }
K c_lines4(Many m, u32 *out) { u32 t = threadIdx.x; if (t * m.v[0] + m.v[16] * (t + 1) + m.v[32] * (t + 2) + m.v[48] == 12345678) out[0] = 1; }
K c_lines8(Many m, u32 *out) { u32 t = threadIdx.x; if (t * m.v[0] + m.v[16] * (t + 1) + m.v[32] * (t + 2) + m.v[48] * (t + 3) + m.v[64] * (t + 4) + m.v[80] * (t + 5) + m.v[96] * (t + 6) + m.v[112] == 12345678) out[0] = 1; }
