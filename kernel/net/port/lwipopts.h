// How lwIP, the TCP/IP stack that Corral links, is built: IPv4 with TCP and UDP over the loopback interface, under one lock of the
// kernel's (net/stack.h), memory from the kernel's heap. What is not said here is as lwIP's opt.h says. Source: lwIP 2.1.3,
// src/include/lwip/opt.h.
#pragma once

// ---- the system -------------------------------------------------------------------------------------------------------
#define NO_SYS 1  // no threads of its own: called under the lock
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_TIMERS 0  // the kernel's timer calls tcp_tmr
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0

// ---- memory: the kernel's heap (net/port/port.cpp) -----------------------------------------------------------------------
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define mem_clib_malloc corral_stack_allocate
#define mem_clib_calloc corral_stack_allocate_zeroed
#define mem_clib_free corral_stack_release
#define PBUF_POOL_SIZE 0
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1  // they compare with sizes of pools, which there are not

// ---- protocols ---------------------------------------------------------------------------------------------------------
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_RAW 0
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_ICMP 1
#define IP_REASSEMBLY 0  // a packet may be as large as its length can say
#define IP_FRAG 0
#define IP_FORWARD 0
#define LWIP_UDP 1
#define LWIP_TCP 1
#define SO_REUSE 1
#define IP_SOF_BROADCAST 1
#define LWIP_NETIF_LOOPBACK 1
#define LWIP_HAVE_LOOPIF 1
#define LWIP_LOOPBACK_MAX_PBUFS 0

// Memory does not change on its way.
#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_UDP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_GEN_ICMP 0
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_UDP 0
#define CHECKSUM_CHECK_TCP 0
#define CHECKSUM_CHECK_ICMP 0

// ---- TCP -----------------------------------------------------------------------------------------------------------------
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 3
#define TCP_MSS 16384
#define TCP_WND (256 * 1024)
#define TCP_SND_BUF (256 * 1024)
#define TCP_SND_QUEUELEN 4096
#define TCP_OVERSIZE 1024
#define TCP_QUEUE_OOSEQ 1
#define TCP_LISTEN_BACKLOG 1
#define LWIP_TCP_KEEPALIVE 1
#define TCP_MSL 500UL  // nothing stays in the loopback interface: an old connection's ports are free after a second

// ---- hooks ---------------------------------------------------------------------------------------------------------------
// Looks at packets for what the stack does not pass on: that nobody receives a datagram (net/udp_socket.cpp).
#define LWIP_HOOK_IP4_INPUT(packet, interface) corral_look_at_packet(packet)
// And for room that the peer has made without acknowledging anything (net/tcp_transfer.cpp).
#define LWIP_HOOK_TCP_INPACKET_PCB(pcb, header, size, size_1, option_2, packet) corral_look_at_segment(pcb, header)
#define LWIP_RAND() corral_stack_random()
