// A row of 33 floats is no multiple of 16 bytes.
// ptxsim: launch block=32
// ptxsim: arg x = ones(33, 33):f32
// ptxsim: arg y = zeros(32):f32
// ptxsim: expect misaligned-address at 7
__global__ void first_of_each_row(const float* x, float* y) {
  float4 v = *reinterpret_cast<const float4*>(x + 33 * threadIdx.x);
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
