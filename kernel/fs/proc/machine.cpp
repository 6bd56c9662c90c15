// /proc/cpuinfo, interrupts, devices-tree, mailboxes, locks: what the machine is and does.
#include "arch/feature_names.h"
#include "arch/processor.h"
#include "arch/traps.h"
#include "core/core.h"
#include "device/clock.h"
#include "device/interrupts.h"
#include "fs/proc/proc.h"
#include "sync/spin_lock.h"

namespace corral::fs::proc {

// Linux's format, one block for each online core (arch/x86/kernel/cpu/proc.c names the fields).
Result<void> cpuinfo(TextBuffer& to, const Subject&) {
  const arch::Features& f = arch::features();
  char memory[arch::feature_names_size];
  const std::string_view names = arch::feature_names(memory);
  const u64 khz = clock::source().frequency() / 1000;
  cores::online().for_each([&](CoreId id) {
    Core& core = cores::get(id);
    to.print("processor\t: {}\n", id.value);
    to.print("vendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n", static_cast<const char*>(f.vendor), f.family, f.model);
    to.print("model name\t: {}\nstepping\t: {}\n", static_cast<const char*>(f.brand), f.stepping);
    to.print("cpu MHz\t\t: {}.{03}\n", khz / 1000, khz % 1000);
    to.print("physical id\t: 0\nsiblings\t: {}\ncore id\t\t: {}\ncpu cores\t: {}\n", cores::online_count(), id.value,
             cores::online_count());
    to.print("apicid\t\t: {}\ninitial apicid\t: {}\nfpu\t\t: yes\nfpu_exception\t: yes\n", core.hardware_id(),
             core.hardware_id());
    to.append("wp\t\t: yes\n");
    to.print("flags\t\t:{}\n", names);
    to.append("clflush size\t: 64\ncache_alignment\t: 64\n\n");
  });
  return {};
}

Result<void> interrupts(TextBuffer& to, const Subject&) {
  to.append("      ");
  cores::online().for_each([&](CoreId id) { to.print("      CPU{-4}", id.value); });
  to.append("\n");
  for (u32 vector = arch::exception_count; vector <= arch::vector_spurious; ++vector) {
    const char* name = corral::interrupts::name_of(vector);
    u64 sum = 0;
    cores::online().for_each([&](CoreId id) { sum += corral::interrupts::count(vector, id); });
    if (name == nullptr && sum == 0) continue;
    to.print("{4}: ", vector);
    cores::online().for_each([&](CoreId id) { to.print(" {12}", corral::interrupts::count(vector, id)); });
    to.print("  {}\n", name == nullptr ? "unknown" : name);
  }
  to.print("unknown {}\nspurious {}\n", corral::interrupts::unknown_count(), corral::interrupts::spurious_count());
  return {};
}

Result<void> devices_tree(TextBuffer& to, const Subject&) {
  devices().for_each(
      [](void* context, Device& device) {
        char line[256];
        const size_t size = device.describe(line, sizeof line);
        static_cast<TextBuffer*>(context)->print("{-16} {}\n", device.name(), std::string_view{line, size});
      },
      &to);
  return {};
}

Result<void> mailboxes(TextBuffer& to, const Subject&) {
  to.append("core    sent      taken     ipi-sent  ipi-taken full      drops     timer     idle\n");
  cores::online().for_each([&](CoreId id) {
    const Core::Counters& c = cores::get(id).counters;
    const auto value = [](const Atomic<u64>& counter) { return counter.load(Order::relaxed); };
    to.print("{-7} {-9} {-9} {-9} {-9} ", id.value, value(c.messages_sent), value(c.messages_taken),
             value(c.message_interrupts_sent), value(c.message_interrupts_taken));
    to.print("{-9} {-9} {-9} {}\n", value(c.mailbox_full), value(c.translation_drops), value(c.timer_interrupts),
             value(c.idle_entries));
  });
  return {};
}

Result<void> locks(TextBuffer& to, const Subject&) {
  const LockStatistics statistics = lock_statistics();
  to.print("acquisitions {}\ncontended {}\n", statistics.acquisitions, statistics.contended);
  return {};
}

}  // namespace corral::fs::proc
