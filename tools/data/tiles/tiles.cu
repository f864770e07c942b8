// Tiles by ordinary loads: 256 threads, each with four loads of 16 bytes at once, of rows of ROW bytes that are PITCH bytes apart.
// HOW 0: loads alone (.ca); 1: .cg; 2: .ca, then four stores of 16 bytes to shared memory between barriers; 3: the same of .cg.
// Each turn reads the next ROW bytes of the same rows (as products do); 4: as 2, each turn others rows. Cycles of a turn, mean and most over CTAs.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
template<bool CG> __device__ __forceinline__ uint4 ld(const char*a){uint4 v; if(CG) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v.x),"=r"(v.y),"=r"(v.z),"=r"(v.w):"l"(a)); else asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v.x),"=r"(v.y),"=r"(v.z),"=r"(v.w):"l"(a)); return v;}
template<int HOW> __global__ void __launch_bounds__(256) tile(const char*p,int turns,unsigned row,unsigned pitch,unsigned apart,unsigned*out){
  __shared__ uint4 s[1024];
  unsigned t=threadIdx.x,per=row/16,dep=0; const char*b=p+(size_t)blockIdx.x*apart;
  const char*a[4];
  #pragma unroll
  for(int k=0;k<4;k++){unsigned n=k*256+t; a[k]=b+(size_t)(n/per)*pitch+(n%per)*16;}
  unsigned step=HOW==4?pitch*(1024/per):row;
  __syncthreads(); unsigned t0=clk();
  #pragma unroll 1
  for(int i=0;i<turns;i++){
    uint4 v[4];
    #pragma unroll
    for(int k=0;k<4;k++){v[k]=ld<HOW==1||HOW==3>(a[k]); a[k]+=step;}
    if(HOW>=2){
      #pragma unroll
      for(int k=0;k<4;k++) s[(k*256+t)^(t>>3&7)]=v[k];
      __syncthreads();
      dep+=s[t*4].x; 
      __syncthreads();
    } else {
      #pragma unroll
      for(int k=0;k<4;k++) dep+=v[k].x+v[k].y+v[k].z+v[k].w;
      asm volatile(""::"r"(dep):"memory");
      #pragma unroll
      for(int k=0;k<4;k++) a[k]+=dep;
    }
  }
  __syncthreads(); unsigned t1=clk();
  if(t==0) out[blockIdx.x]=t1-t0+(dep==12345u);
}
// Lanes that chase pointers through L1 (table of BYTES, resident after the first turn) or L2 (.cg), LANES of them on, each at its own place.
template<bool CG> __global__ void walk(const unsigned*p,int turns,unsigned mask,int lanes,unsigned*out){
  unsigned l=threadIdx.x&31,at=(l*2654435761u>>7)&mask; unsigned t0=0;
  if((int)l<lanes){
  for(int r=0;r<2;r++){ if(r) t0=clk();
    #pragma unroll 1
    for(int i=0;i<turns;i++){ unsigned v; if(CG) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(p+at)); else asm volatile("ld.global.u32 %0,[%1];":"=r"(v):"l"(p+at)); at=(at*5+v+l)&mask; } }
  }
  unsigned t1=clk();
  if(threadIdx.x==0) out[blockIdx.x]=t1-t0+(at==0xffffffffu);
}
// A lane of each warp goes through rows of a list and looks each entry up (as sparse products do): words side by side by one lane, LANES of them on, each with its own list.
__global__ void lists(const unsigned*ci,const float*x,int turns,unsigned apart,unsigned mask,int lanes,unsigned*out,float*y){
  unsigned l=threadIdx.x&31,w=(blockIdx.x*blockDim.x+threadIdx.x)>>5; float s=0; unsigned t0=clk();
  if((int)l<lanes){ const unsigned*c=ci+(w*32+l)*apart;
    #pragma unroll 1
    for(int i=0;i<turns;i++) s+=x[c[i]&mask]; }
  __syncwarp(); unsigned t1=clk(); if(s==1e30f) y[threadIdx.x]=s;
  if(threadIdx.x==0) out[blockIdx.x]=t1-t0;
}
int main(){
  char*p;unsigned*o;float*y;cudaMalloc(&p,64<<20);cudaMalloc(&o,1<<20);cudaMalloc(&y,4096);
  std::vector<unsigned> z(16<<20); unsigned s=1; for(auto&v:z){s=s*1664525u+1013904223u;v=s>>9;}
  std::vector<unsigned> h(4096);
  auto say=[&](const char*what,int a,int b,int c,int d,int ctas,int turns){cudaError_t e=cudaDeviceSynchronize(); if(e){printf("error %d\n",e);exit(1);} cudaMemcpy(h.data(),o,ctas*4,cudaMemcpyDeviceToHost); double m=0,x=0; for(int k=0;k<ctas;k++){m+=h[k];x=std::max(x,(double)h[k]);} printf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\n",what,a,b,c,d,ctas,turns,m/ctas,x);};
  printf("what\ta\tb\tc\td\tctas\tturns\tmean\tmost\n");
  cudaMemset(p,0,64<<20);
  typedef void(*T)(const char*,int,unsigned,unsigned,unsigned,unsigned*); T ts[]={tile<0>,tile<1>,tile<2>,tile<3>,tile<4>};
  for(int how=0;how<5;how++) for(unsigned row:{32u,64u,128u,256u,512u}) for(unsigned pitch:{0u,256u,512u,1024u,2048u,4096u,2048u+128u,4096u+128u}) for(int ctas:{1,16,132}){
    unsigned pi=pitch?pitch:row; if(pi<row) continue; unsigned rows=1024/(row/16); unsigned apart=16384; if(how==4) apart=0;
    int turns=pitch?(how==4?4:std::max(2,std::min(8,(int)(pi/row)))):4; size_t need=(size_t)rows*pi*(how==4?turns:1)+(size_t)ctas*apart+(1<<20); if(need>(64u<<20)) continue; if(pitch==0&&how!=4) {}
    for(int r=0;r<3;r++) ts[how]<<<ctas,256>>>(p,turns,row,pi,apart,o);
    say("tile",how,row,pi,256,ctas,turns);
  }
  cudaMemcpy(p,z.data(),64<<20,cudaMemcpyHostToDevice);
  for(int lanes:{1,2,4,8,16,32}) for(int warps:{1,4,8}) for(int ctas:{1,64,132}) for(unsigned bytes:{8192u,65536u,131072u}) {
    for(int r=0;r<3;r++) walk<false><<<ctas,32*warps>>>((unsigned*)p,4096,bytes/4-1,lanes,o);
    say("walk",lanes,warps,bytes,0,ctas,4096); }
  for(int lanes:{1,2,4,8,16,32}) for(int warps:{1,4}) for(int ctas:{1,64,132}) for(unsigned bytes:{65536u,4194304u}) {
    for(int r=0;r<3;r++) walk<true><<<ctas,32*warps>>>((unsigned*)p,1024,bytes/4-1,lanes,o);
    say("walk_cg",lanes,warps,bytes,0,ctas,1024); }
  for(int lanes:{1,2,4,8,16,32}) for(int warps:{1,4}) for(int ctas:{1,64,132}) for(unsigned apart:{32u,40u,256u}) for(unsigned bytes:{8192u,32768u,131072u}) {
    for(int r=0;r<3;r++) lists<<<ctas,32*warps>>>((unsigned*)p,(float*)(p+(32<<20)),32,apart,bytes/4-1,lanes,o,y);
    say("lists",lanes,warps,apart,bytes,ctas,32); }
}
