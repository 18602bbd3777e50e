"""The head of an FMU's C source, before its functions."""

HEAD = """/* An arm as a Functional Mock-up Unit, written by forearm: FMI's functions and all that they need.
   The libraries in binaries/ are made of the same program. C99, for 64-bit systems; it needs nothing but the
   C library's sqrt, fma and memcpy. To build it: cc -O2 -shared -fPIC forearm_fmu.c -lm */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#include <intrin.h>
#define EXPORT __declspec(dllexport)
#define TAKEN(p) ((uint32_t)_InterlockedExchange((volatile long *)(p), 1))
#define SEEN(p) ((uint32_t)_InterlockedOr((volatile long *)(p), 0))
#define RELEASED(p) ((void)_InterlockedExchange((volatile long *)(p), 0))
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EXPORT __attribute__((visibility("default")))
#define TAKEN(p) __atomic_exchange_n((uint32_t *)(void *)(p), 1u, __ATOMIC_ACQUIRE)
#define SEEN(p) __atomic_load_n((uint32_t *)(void *)(p), __ATOMIC_ACQUIRE)
#define RELEASED(p) __atomic_store_n((uint32_t *)(void *)(p), 0u, __ATOMIC_RELEASE)
#else /* instances must be made and freed by one thread at a time */
#define EXPORT
#define TAKEN(p) taken(p)
#define SEEN(p) get_i32(p)
#define RELEASED(p) put_i32(p, 0)
#endif

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)"""

_ACCESS = """
static inline {c} get_{kind}(const void *p) {{ {c} x; memcpy(&x, p, sizeof x); return x; }}
static inline void put_{kind}(void *p, {c} x) {{ memcpy(p, &x, sizeof x); }}"""
_TYPES = {
    "double": "double", "i64": "uint64_t", "i32": "uint32_t", "i8": "uint8_t", "ptr": "uint8_t *",
}  # fmt: skip

BODY = (
    "\ntypedef char needs_a_64_bit_system[sizeof(void *) == 8 ? 1 : -1];"
    + "".join(_ACCESS.format(kind=kind, c=c) for kind, c in _TYPES.items())
    + """
static inline uint64_t bits_of(double x) { uint64_t b; memcpy(&b, &x, sizeof b); return b; }
static inline double number_of(uint64_t b) { double x; memcpy(&x, &b, sizeof x); return x; }
#if !defined(_WIN32) && !defined(__GNUC__)
static inline uint32_t taken(uint8_t *p) { uint32_t x = get_i32(p); put_i32(p, 1); return x; }
#endif
"""
)
