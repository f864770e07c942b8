// Loops of calls that read the clock around them: functions of so many dependent operations, two of them, one that calls two, by some
// lanes, one that calls itself, one by address, and a table of branches.
typedef unsigned u32;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
template <int D> __device__ __noinline__ float f(float a, float b) { for (int k = 0; k < D; k++) a = a * b + 1.f; return a; }
template <int D> __device__ __noinline__ float g(float a, float b) { for (int k = 0; k < D; k++) a = a * b + 2.f; return a; }
template <int D> __device__ __noinline__ float deep(float a, float b) { return f<D>(a, b) + g<D>(b, a); }
#define CALLS(NAME, CALL) K NAME(const float *x, u32 *out, u32 *t, int n) { float a = x[threadIdx.x & 31], c = a + 1; u32 b = clock(); _Pragma("unroll 1") for (int i = 0; i < n; i++) { CALL; } u32 e = clock(); out[AT] = __float_as_int(a); t[AT] = e - b; }
CALLS(c_none, a = a * c + 1.f)
CALLS(c_one1, a = f<1>(a, c))
CALLS(c_one4, a = f<4>(a, c))
CALLS(c_one16, a = f<16>(a, c))
CALLS(c_two4, a = f<4>(a, c); a = g<4>(a, c))
CALLS(c_four4, a = f<4>(a, c); a = f<4>(a, c); a = f<4>(a, c); a = f<4>(a, c))
CALLS(c_deep4, a = deep<4>(a, c))
CALLS(c_some4, if ((threadIdx.x ^ i) & 1) a = f<4>(a, c); else a = a * c)
__device__ __noinline__ u32 down(u32 v, int d) { if (d == 0) return v * 3; u32 w = down(v + d, d - 1); return w * v + d; }
K c_recursive(const float *x, u32 *out, u32 *t, int n) { u32 v = __float_as_int(x[threadIdx.x & 31]); u32 b = clock(); _Pragma("unroll 1") for (int i = 0; i < n; i++) v = down(v, 8); u32 e = clock(); out[AT] = v; t[AT] = e - b; }
typedef float (*fp)(float, float);
__device__ fp table[4] = {f<1>, f<4>, g<1>, g<4>};
K c_pointer(const float *x, u32 *out, u32 *t, int n) { float a = x[threadIdx.x & 31], c = a + 1; u32 b = clock(); _Pragma("unroll 1") for (int i = 0; i < n; i++) a = table[i & 3](a, c); u32 e = clock(); out[AT] = __float_as_int(a); t[AT] = e - b; }
K c_switch(const float *x, u32 *out, u32 *t, int n) { float a = x[threadIdx.x & 31], c = a + 1; u32 b = clock(); _Pragma("unroll 1") for (int i = 0; i < n; i++) { switch (i & 7) { case 0: a = a * c + 1; break; case 1: a = a + c; break; case 2: a = a * c; break; case 3: a = fabsf(a) - c; break; case 4: a = a * a + c; break; case 5: a = -a; break; case 6: a = a - 3 * c; break; default: a = a * 7 + 1; } } u32 e = clock(); out[AT] = __float_as_int(a); t[AT] = e - b; }
