// What lwIP asks of its system: the compiler's types, and what the kernel does for it (net/port/port.cpp). C and C++.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LWIP_NO_CTYPE_H 1
#define LWIP_NO_UNISTD_H 1
#define SSIZE_MAX INT64_MAX  // there is a type of that size: lwIP need not make one
#define LWIP_PLATFORM_DIAG(text)
#define LWIP_PLATFORM_ASSERT(text) corral_stack_is_wrong(text)

struct pbuf;
struct tcp_hdr;
struct tcp_pcb;

#ifdef __cplusplus
extern "C" {
#endif
void* corral_stack_allocate(size_t size);
void* corral_stack_allocate_zeroed(size_t count, size_t size);
void corral_stack_release(void* pointer);
uint32_t corral_stack_random(void);
int corral_look_at_packet(struct pbuf* packet);  // 0: it goes on
signed char corral_look_at_segment(struct tcp_pcb* pcb, const struct tcp_hdr* header);  // 0: it goes on
#ifdef __cplusplus
[[noreturn]] void corral_stack_is_wrong(const char* text);
}
#else
_Noreturn void corral_stack_is_wrong(const char* text);
#endif
