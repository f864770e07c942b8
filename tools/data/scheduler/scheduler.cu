// How warps of a sub-core get on: each warp's clock after equal pieces of arithmetic, in straight code and in a loop, and after stores.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define SEG 8
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
template<int KIND> __device__ __forceinline__ void piece(unsigned (&r)[4],float (&f)[4],unsigned k){
  #pragma unroll
  for(int i=0;i<96;i++){ int j=i&3;
    if(KIND==0) asm volatile("fma.rn.f32 %0,%0,%1,%2;":"+f"(f[j]):"f"(1.0001f),"f"(0.5f));
    if(KIND==1) asm volatile("mad.lo.u32 %0,%0,%1,%2;":"+r"(r[j]):"r"(k),"r"(k));
    if(KIND==2) asm volatile("fma.rn.f32 %0,%0,%1,%2;":"+f"(f[0]):"f"(1.0001f),"f"(0.5f));
    if(KIND==3) { if(i<32) asm volatile("ex2.approx.ftz.f32 %0,%0;":"+f"(f[j&1])); else asm volatile("fma.rn.f32 %0,%0,%1,%2;":"+f"(f[2+(j&1)]):"f"(1.0001f),"f"(0.5f)); }
    if(KIND==4) { if(i&1) asm volatile("xor.b32 %0,%0,%1;":"+r"(r[j]):"r"(r[(j+2)&3])); else asm volatile("mad.lo.u32 %0,%0,%1,%2;":"+r"(r[j]):"r"(k),"r"(r[j+1])); }
    if(KIND==5) asm volatile("mul.hi.u32 %0,%0,%1;":"+r"(r[j&1]):"r"(k));
    if(KIND==6) asm volatile("shf.l.wrap.b32 %0,%0,%0,%1;":"+r"(r[j]):"r"(k));
    if(KIND==7) { if(i%3==0) asm volatile("ex2.approx.ftz.f32 %0,%0;":"+f"(f[j])); else asm volatile("fma.rn.f32 %0,%0,%1,%2;":"+f"(f[j]):"f"(1.0001f),"f"(0.5f)); }
  }
}
template<int KIND,bool LOOP> __global__ void __launch_bounds__(1024) s(unsigned*out,unsigned k,float*y,int turns,int stores){
  unsigned r[4]={threadIdx.x,threadIdx.x+k,3*k,k^5}; float f[4]={k*1.f,k*2.f,k*3.f,k*4.f}; unsigned t[SEG+2];
  __syncthreads(); t[0]=clk();
  if(LOOP){
    #pragma unroll 1
    for(int i=0;i<turns;i++) piece<KIND>(r,f,k);
    t[SEG]=clk();
    #pragma unroll
    for(int i=1;i<SEG;i++) t[i]=t[0];
  } else {
    #pragma unroll
    for(int i=0;i<SEG;i++){ piece<KIND>(r,f,k); t[i+1]=clk(); }
  }
  if(stores){ float v=f[0]+f[1]+f[2]+f[3]+__uint_as_float(r[0]^r[1]^r[2]^r[3]); float*p=y+(size_t)(blockIdx.x*blockDim.x+threadIdx.x)*4;
    #pragma unroll
    for(int j=0;j<4;j++) asm volatile("st.global.f32 [%0],%1;"::"l"(p+j),"f"(v)); }
  t[SEG+1]=clk();
  if(!stores){ unsigned z=r[0]^r[1]^r[2]^r[3]^__float_as_uint(f[0]+f[1]+f[2]+f[3]); if(z==12345u) y[0]=1; }
  if((threadIdx.x&31)==0){ unsigned*o=out+((blockIdx.x*blockDim.x+threadIdx.x)>>5)*(SEG+2);
    #pragma unroll
    for(int i=0;i<SEG+2;i++) o[i]=t[i]; }
}
template<int KIND,bool LOOP> void go(unsigned*d,float*y,const char*name){
  static std::vector<unsigned> h(132*32*(SEG+2)*4);
  for(int th:{128,256,512,1024}) for(int grid:{1,132}) for(int st:{0,1}){
    if(st==0&&grid==132) continue;
    for(int i=0;i<3;i++) s<KIND,LOOP><<<grid,th>>>(d,7,y,SEG,st);
    if(cudaDeviceSynchronize()){printf("error\n");return;}
    int n=grid*th/32; cudaMemcpy(h.data(),d,n*(SEG+2)*4,cudaMemcpyDeviceToHost);
    // of the CTA that takes longest: its warps one by one
    int worst=0; double mean=0; unsigned most=0; int per=th/32;
    for(int c=0;c<grid;c++){ unsigned b=~0u,e=0; for(int w=0;w<per;w++){unsigned*o=&h[(c*per+w)*(SEG+2)]; if(w==0) b=o[0]; else if((int)(o[0]-b)<0) b=o[0];} for(int w=0;w<per;w++){unsigned*o=&h[(c*per+w)*(SEG+2)]; e=std::max(e,o[SEG+1]-b);} mean+=e; if(e>most){most=e;worst=c;} }
    unsigned b=h[worst*per*(SEG+2)]; for(int w=0;w<per;w++) if((int)(h[(worst*per+w)*(SEG+2)]-b)<0) b=h[(worst*per+w)*(SEG+2)];
    printf("%s\t%d\t%d\t%d\t%d\t%u\t%.0f",name,(int)LOOP,th,grid,st,most,mean/grid);
    for(int w=0;w<per;w++){ printf("\t%d:",w); unsigned*o=&h[(worst*per+w)*(SEG+2)]; for(int i=0;i<SEG+2;i++) if(!LOOP||i==0||i>=SEG) printf("%s%d",i?",":"",(int)(o[i]-b)); }
    printf("\n");
  }
}
int main(){ unsigned*d;float*y; cudaMalloc(&d,4<<20); cudaMalloc(&y,64<<20);
  printf("kind\tloop\tthreads\tctas\tstores\tmost\tmean\twarps\n");
  #define G(K,N) go<K,false>(d,y,N); go<K,true>(d,y,N);
  G(0,"fma") G(1,"imad") G(2,"chain") G(3,"mufu") G(4,"mix") G(5,"hi") G(6,"alu") G(7,"exp") }
