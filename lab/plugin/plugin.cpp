// Between QEMU and the model: what is translated gets calls to the model. See docs/cache-model.md.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "instructions.h"
#include "machine.h"
#include "qemu_internals.h"
#include "qemu_plugin.h"

namespace corral::cache_model {

namespace {

Machine* machine = nullptr;  // from the installation on; never destroyed: QEMU calls after destructors have run
qemu_plugin_id_t own_id;
std::atomic<bool> counting{true};  // false: outside of a region of interest

void* word(u64 value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): QEMU hands it back as it is
}
u64 word(void* value) {
  return reinterpret_cast<u64>(value);
}
Mode mode_at(u64 address) {
  return address >> 63 != 0 ? Mode::kernel : Mode::user;
}

// ---- the report ----------------------------------------------------------------------------------------------------------------

void write_report(std::string_view label) {
  static constinit std::mutex lock;
  const std::lock_guard guard{lock};
  const std::string& name = machine->parameters().report;
  if (name.empty()) return;
  FILE* file = std::fopen(name.c_str(), "ae");
  if (file == nullptr) {
    std::perror(name.c_str());
    return;
  }
  std::fprintf(file, "%s\n", machine->report(label).c_str());
  std::fclose(file);
}

// ---- while the guest runs: on the thread of the core ---------------------------------------------------------------------------

void on_block(unsigned core, void* instructions_and_mode) {
  const u64 packed = word(instructions_and_mode);
  const u64 stalls = machine->core(core).executes(static_cast<Mode>(packed & 1), packed >> 1);
  if (machine->turns().wanted()) machine->turns().block(core, packed >> 1, stalls);
}

// Outside of a region: nothing is counted, but the clock goes on and turns end.
void on_uncounted_block(unsigned core, void* instructions) {
  machine->turns().block(core, word(instructions), 0);
}

template <Mode mode>
void on_access(unsigned number, qemu_plugin_meminfo_t what, u64 address, void*) {
  Core& core = machine->core(number);
  u64 physical = 0;
  if (!core.addresses().find(address, physical)) [[unlikely]] {
    const qemu_plugin_hwaddr* place = qemu_plugin_get_hwaddr(what, address);
    if (place == nullptr || qemu_plugin_hwaddr_is_io(place)) return;  // a device's registers are in no cache
    physical = qemu_plugin_hwaddr_phys_addr(place);
    core.addresses().remember(address, physical);
  }
  core.access(mode, physical, 1u << qemu_plugin_mem_size_shift(what), qemu_plugin_mem_is_store(what));
}

void on_new_translations(unsigned core, void*) {
  machine->core(core).addresses().forget();
}

struct MarkPlace {
  Mark mark;
  i64 operand;
  u8* page;  // Mark::seat: where it is on this machine
};

void install_callbacks(qemu_plugin_id_t id);

void begin_again(qemu_plugin_id_t id) {
  machine->forget();
  install_callbacks(id);
}

void set_counting(bool wanted) {
  if (!machine->parameters().region_only || counting.exchange(wanted) == wanted) return;
  qemu_plugin_reset(own_id, begin_again);
}

void on_mark(unsigned core, void* data) {
  const auto& place = *static_cast<const MarkPlace*>(data);
  switch (place.mark) {
    case Mark::seat: machine->seat(core, *reinterpret_cast<Page*>(place.page)); return;
    case Mark::runs: machine->core(core).thread_runs(); return;
    case Mark::start: set_counting(true); return;
    case Mark::stop: set_counting(false); return;
    case Mark::reset: machine->reset_report(); return;
    case Mark::dump: write_report(std::to_string(place.operand)); return;
  }
}

// ---- when code is translated ---------------------------------------------------------------------------------------------------

// Kept for ever: translated code, which may be dropped and made again, has pointers to them. Equal ones are one.
MarkPlace* keep(const MarkPlace& wanted) {
  static constinit std::mutex lock;
  static auto& places = *new std::deque<MarkPlace>;
  const std::lock_guard guard{lock};
  for (MarkPlace& each : places) {
    if (each.mark == wanted.mark && each.operand == wanted.operand && each.page == wanted.page) return &each;
  }
  return &places.emplace_back(wanted);
}

void translate_mark(qemu_plugin_insn* instruction, Mark mark) {
  auto* const code = static_cast<u8*>(qemu_plugin_insn_haddr(instruction));
  const u64 address = qemu_plugin_insn_vaddr(instruction);
  if (code == nullptr || address % mark_bytes != 0) return;
  MarkPlace place{mark, operand_of(code), nullptr};
  if (mark == Mark::seat) {
    // The page is in the kernel's image like the mark, and the image is one piece of memory.
    if (mode_at(address) != Mode::kernel || static_cast<u64>(place.operand) % page_size != 0) return;
    place.page = code + (place.operand - static_cast<i64>(address));
  }
  qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_mark, QEMU_PLUGIN_CB_NO_REGS, keep(place));
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  const Mode mode = mode_at(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0)));
  const bool wanted = counting.load();
  if (wanted) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, QEMU_PLUGIN_CB_NO_REGS, word(count << 1 | static_cast<u64>(mode)));
  } else if (machine->turns().wanted()) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_uncounted_block, QEMU_PLUGIN_CB_NO_REGS, word(count));
  }
  for (size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    const std::span code{static_cast<const u8*>(qemu_plugin_insn_data(instruction)), qemu_plugin_insn_size(instruction)};
    if (Mark mark{}; is_mark(code, mark)) {
      translate_mark(instruction, mark);
      continue;
    }
    if (!wanted) continue;
    qemu_plugin_register_vcpu_mem_cb(instruction, mode == Mode::kernel ? on_access<Mode::kernel> : on_access<Mode::user>,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, nullptr);
    if (changes_translations(code)) {
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_new_translations, QEMU_PLUGIN_CB_NO_REGS, nullptr);
    }
  }
}

// QEMU 7.2 drops translated code and what belongs to it while a core still has a pointer to its list of callbacks, and reads it at
// that core's next access. No core runs here.
void on_flush(qemu_plugin_id_t) {
  if (qemu_get_cpu == nullptr || qemu_plugin_disable_mem_helpers == nullptr) return;
  for (u32 i = 0; i < machine->cores(); ++i) {
    if (void* core = qemu_get_cpu(static_cast<int>(i))) qemu_plugin_disable_mem_helpers(core);
  }
}

void on_new_core(qemu_plugin_id_t, unsigned core) {
  if (const char* why = machine->turns().find_out(core)) {
    std::fprintf(stderr, "cache model: %s\n", why);
    std::_Exit(EXIT_FAILURE);  // without a report
  }
}

void on_end(qemu_plugin_id_t, void*) {
  write_report("end");
}

void install_callbacks(qemu_plugin_id_t id) {
  qemu_plugin_register_vcpu_init_cb(id, on_new_core);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_atexit_cb(id, on_end, nullptr);
}

const char* fault_of(const qemu_info_t& info) {
  if (std::string_view{info.target_name} != "x86_64" || !info.system_emulation) return "it models machines of x86-64 only";
  if (info.max_vcpus < 1 || info.max_vcpus > static_cast<int>(most_cores)) return "it models 1 to 64 cores";
  return nullptr;
}

}  // namespace

}  // namespace corral::cache_model

extern "C" {

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;

[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count, char** words) {
  using namespace corral::cache_model;
  Parameters parameters;
  const std::vector<std::string_view> given{words, words + count};
  std::string fault = parse(given, parameters);
  if (const char* machine_fault = fault_of(*info)) fault = machine_fault;
  if (!fault.empty()) {
    std::fprintf(stderr, "cache model: %s\n", fault.c_str());
    return 1;
  }
  own_id = id;
  counting = !parameters.region_only;
  machine = new Machine{static_cast<corral::u32>(info->max_vcpus), parameters};
  install_callbacks(id);
  return 0;
}

}  // extern "C"
