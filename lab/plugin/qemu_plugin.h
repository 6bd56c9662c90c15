// What is used of QEMU's interface for plugins, version 1. Source: QEMU 7.2, docs/devel/tcg-plugins.rst. The functions are QEMU's.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;  // NOLINT(readability-identifier-naming): QEMU's name
using qemu_plugin_meminfo_t = std::uint32_t;  // NOLINT(readability-identifier-naming): QEMU's name

struct qemu_plugin_tb;  // a block of instructions that is translated and executed at once
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_info_t {
  const char* target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  int smp_vcpus, max_vcpus;
};

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

using SimpleCallback = void (*)(qemu_plugin_id_t);
using CoreCallback = void (*)(qemu_plugin_id_t, unsigned core);
using ExecuteCallback = void (*)(unsigned core, void* data);
using AccessCallback = void (*)(unsigned core, qemu_plugin_meminfo_t, std::uint64_t address, void* data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, CoreCallback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb*, ExecuteCallback, qemu_plugin_cb_flags, void* data);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn*, ExecuteCallback, qemu_plugin_cb_flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn*, AccessCallback, qemu_plugin_cb_flags, qemu_plugin_mem_rw, void* data);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t, SimpleCallback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void*), void* data);
void qemu_plugin_reset(qemu_plugin_id_t, SimpleCallback);

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, std::size_t);
const void* qemu_plugin_insn_data(const qemu_plugin_insn*);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn*);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn*);
void* qemu_plugin_insn_haddr(const qemu_plugin_insn*);

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, std::uint64_t address);
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr*);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr*);

}  // extern "C"
