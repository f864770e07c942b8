/* The C side of a stand-in for libcudart.so: every function of the runtime is an entry of `ptxsim_table`, which Python fills.
 *
 * What runs before main() (registration) and on the way into a launch (the <<<>>> configuration) stays here; everything else
 * brings up Python, once, in the program's own process. `stubs.h` is written by ptxsim.cuda.runtime.stubs: the table,
 * and one stub for each function. Nothing of CUDA's own headers is needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
typedef int cudaError_t;
typedef struct { unsigned x, y, z; } dim3;
typedef struct { size_t width, height, depth; } cudaExtent;
typedef struct { void *pointer; size_t pitch, xsize, ysize; } cudaPitchedPtr;

/* ---- what the program registers before main() ---- */

enum kind { BINARY, FUNCTION, VARIABLE, MANAGED };
struct registration { uint64_t kind; void *binary; const void *host; const char *name; uint64_t size; };
static struct { uint64_t count, capacity; struct registration *rows; } registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(enum kind kind, void *binary, const void *host, const char *name, size_t size) {
  pthread_mutex_lock(&lock);
  if (registered.count == registered.capacity) { /* the old rows stay: Python may be reading them in another thread */
    registered.capacity = registered.capacity ? 2 * registered.capacity : 256;
    struct registration *rows = malloc(registered.capacity * sizeof *rows);
    if (registered.count) memcpy(rows, registered.rows, registered.count * sizeof *rows);
    registered.rows = rows;
  }
  registered.rows[registered.count] = (struct registration){kind, binary, host, name, size};
  __atomic_store_n(&registered.count, registered.count + 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

/* A binary's handle is the address of the place that holds the address of its data. One that nvlink has made of several has the list of
 * those behind it, which ends with a null pointer: they hold the PTX. */
enum { LINKED = 2 };
API void **__cudaRegisterFatBinary(void *wrapper) {
  struct { int magic, version; void *data, *file; } *w = wrapper;
  void **handle = malloc(sizeof *handle);
  *handle = w->data;
  add(BINARY, handle, w->data, 0, w->version == LINKED ? (size_t)w->file : 0);
  return handle;
}
API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
API void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *tid, void *bid,
                                void *block, void *grid, int *warp) {
  (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  add(FUNCTION, handle, host, name, 0);
}
API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t size, int constant, int global) {
  (void)device, (void)is_extern, (void)constant, (void)global;
  add(VARIABLE, handle, host, name, size);
}
API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_extern, size_t size, int constant,
                                  int global) {
  (void)device, (void)is_extern, (void)constant, (void)global;
  add(MANAGED, handle, host, name, size);
}

/* ---- kernel<<<grid, block, shared, stream>>> ---- */

struct configuration { dim3 grid, block; size_t shared; void *stream; };
static __thread struct configuration configurations[64];
static __thread int depth;

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  if (depth == 64) return 1;
  configurations[depth++] = (struct configuration){grid, block, shared, stream};
  return 0;
}
API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (!depth) return 52; /* cudaErrorMissingConfiguration */
  struct configuration c = configurations[--depth];
  *grid = c.grid, *block = c.block, *shared = c.shared, *(void **)stream = c.stream;
  return 0;
}

/* ---- the functions ---- */

static int started;
static void bring_up(void);
#define READY() do { if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) bring_up(); } while (0)
/* A Python program's interpreter is gone before what its libraries do on exit: cudaErrorCudartUnloading. */
static int (*interpreter_lives)(void);
static int is_over(void) { return interpreter_lives && !interpreter_lives(); }
#include "stubs.h"

/* ---- Python ---- */

static void fail(const char *what, const char *detail) {
  fflush(stdout);
  fprintf(stderr, "ptxsim: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
  _Exit(2);
}

static int is_python(void) {
  int (*up)(void) = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  return up && up();
}

/* Load the interpreter, with the home of the ptxsim that built this, and leave its lock. */
static void embed(const char *code) {
  const char *name = getenv("PTXSIM_LIBPYTHON");
  if (!name) fail("this is ptxsim's libcudart, and nothing says where ptxsim is; start the program with `ptxsim exec`", 0);
  void *python = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!python) fail("Python cannot be loaded into the program", dlerror());
  const char *home = getenv("PTXSIM_PYTHONHOME"), *other = getenv("PYTHONHOME");
  char *kept = other ? strdup(other) : 0;
  if (home) setenv("PYTHONHOME", home, 1);
  ((void (*)(int))dlsym(python, "Py_InitializeEx"))(0);
  if (kept) setenv("PYTHONHOME", kept, 1);
  else unsetenv("PYTHONHOME");
  free(kept);
  if (((int (*)(const char *))dlsym(python, "PyRun_SimpleString"))(code)) fail("it does not start in the program", 0);
  ((void *(*)(void))dlsym(python, "PyEval_SaveThread"))();
}

/* The program is a Python program that has loaded a library of CUDA code. */
static void join(const char *code) {
  int state = ((int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure"))();
  int problem = ((int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString"))(code);
  ((void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release"))(state);
  if (problem) fail("it does not start in the program", 0);
}

static void finish(void) { ((int (*)(void))ptxsim_table[FINISH])(); }

static void start(void) {
  static const char form[] =
      "import os, sys\n"
      "sys.path[%d:] = [p for p in os.environ.get('PTXSIM_PYTHONPATH', '').split(os.pathsep) if p not in sys.path[:%d]]\n"
      "from ptxsim.programs import cudart\n"
      "cudart.start(%llu, %llu, %d, %d)\n";
  char code[sizeof form + 100];
  int joins = is_python(), kept = joins ? 1 << 30 : 0; /* of a Python program's own path everything, else nothing */
  snprintf(code, sizeof code, form, kept, kept, (unsigned long long)(uintptr_t)ptxsim_table, (unsigned long long)(uintptr_t)&registered,
           VERSION, joins);
  (joins ? join : embed)(code);
  if (joins) interpreter_lives = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  else atexit(finish); /* a Python program's interpreter is gone by then: process.start sees to it */
}

/* Python's lock is not kept while another thread brings ptxsim up, which needs it. */
static void bring_up(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int (*holds)(void) = dlsym(RTLD_DEFAULT, "PyGILState_Check");
  void *state = is_python() && holds && holds() ? ((void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread"))() : 0;
  pthread_once(&once, start);
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  if (state) ((void (*)(void *))dlsym(RTLD_DEFAULT, "PyEval_RestoreThread"))(state);
}

/* Whether the program has loaded code of CUDA's that has not called anything yet. */
API int __cudaHasRegistered(void) { return __atomic_load_n(&registered.count, __ATOMIC_ACQUIRE) != 0; }

/* ---- NVRTC ---- */

#undef API
#include "nvrtc.c"

API char __cudaInitModule(void **handle) {
  READY();
  return ((int (*)(void **))ptxsim_table[INIT_MODULE])(handle) == 0;
}
