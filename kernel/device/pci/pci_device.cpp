// PCI functions as devices. See pci_device.h.
// Source: PCI Local Bus Specification 3.0, 6.8.2 (MSI-X).
#include "device/pci/pci_device.h"

#include "arch/page_table.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "trace/log.h"

namespace corral::pci {

namespace {

constexpr u32 msix_enable = 1u << 31;
constexpr u32 msix_mask_all = 1u << 30;
constexpr u32 msix_table_size = 0x7ff;  // of the control word, in the upper half of the first register
constexpr u32 entry_size = 16;
constexpr u32 entry_masked = 1;
constexpr u32 most_entries = 2048;

// A line of the interrupt controller on which several functions may interrupt.
class SharedLine final : public InterruptHandler {
 public:
  static constexpr u32 most_handlers = 16;
  void handle_interrupt() override {
    const u32 count = count_.load(Order::acquire);
    for (u32 i = 0; i < count; ++i) handlers_[i]->handle_interrupt();
  }
  bool add(InterruptHandler& handler) {  // lines_lock held
    const u32 count = count_.load(Order::relaxed);
    if (count == most_handlers) return false;
    handlers_[count] = &handler;
    count_.store(count + 1, Order::release);
    return true;
  }
  [[nodiscard]] bool used() const { return count_.load(Order::relaxed) != 0; }

 private:
  InterruptHandler* handlers_[most_handlers] = {};
  Atomic<u32> count_{0};
};

constexpr u32 most_lines = 256;
constinit SpinLock lines_lock{Rank::device_manager, "PCI lines"};
constinit SharedLine* lines[most_lines] GUARDED_BY(lines_lock) = {};

}  // namespace

void PciDevice::enable() {
  change_command(space_, function_.address, command_memory | command_bus_master, 0);
}

Result<volatile u8*> PciDevice::map(u32 bar, u64 offset, u64 size) {
  if (bar >= Function::most_bars || function_.bars[bar].kind != Bar::Kind::memory) return Errno::einval;
  const Bar& range = function_.bars[bar];
  if (size == 0 || size > most_mapped || offset > range.size || size > range.size - offset) return Errno::einval;
  const u64 first = round_down(range.address + offset, page_size);
  for (u64 page = first; page < range.address + offset + size; page += page_size) {
    if (memory::is_managed({page})) return Errno::einval;  // a range that lies over memory is a lie
  }
  return arch::map_device({range.address + offset}, size);
}

u32 PciDevice::message_count() {
  const u8 at = function_.find_capability(capability_msix);
  return at == 0 ? 0 : (read(at) >> 16 & msix_table_size) + 1;
}

Result<void> PciDevice::open_message_table() {
  if (message_table_ != nullptr) return {};
  const u8 at = function_.find_capability(capability_msix);
  if (at == 0 || at + 12 > 0x100) return Errno::enodev;
  const u32 place = read(at + 4);
  const u32 count = message_count();
  if (count > most_entries) return Errno::einval;
  volatile u8* table = TRY(map(place & 7, place & ~7u, u64{count} * entry_size));
  for (u32 i = 0; i < count; ++i) *reinterpret_cast<volatile u32*>(table + u64{i} * entry_size + 12) = entry_masked;
  message_table_ = table;
  message_count_ = count;
  // From here on the function sends messages only; its pin is quiet.
  write(at, (read(at) & ~msix_mask_all) | msix_enable);
  change_command(space_, function_.address, command_no_intx, 0);
  return {};
}

Result<void> PciDevice::connect_message(u32 entry, u32 hardware_id, const char* name, InterruptHandler& handler) {
  MessageInterrupts* messages = interrupts::messages();
  if (messages == nullptr) return Errno::enodev;
  TRY(open_message_table());
  if (entry >= message_count_) return Errno::einval;
  const InterruptMessage message = TRY(messages->allocate(hardware_id, name, handler));
  volatile auto* words = reinterpret_cast<volatile u32*>(message_table_ + u64{entry} * entry_size);
  words[0] = static_cast<u32>(message.address);
  words[1] = static_cast<u32>(message.address >> 32);
  words[2] = message.data;
  words[3] = 0;
  return {};
}

Result<void> PciDevice::connect_pin(const char* name, InterruptHandler& handler) {
  const u32 number = function_.interrupt_line;
  if (function_.interrupt_pin == 0 || number == 0 || number == 0xff) return Errno::enodev;
  SharedLine* fresh = TRY(memory::make<SharedLine>());
  SharedLine* line = nullptr;
  bool first = false;
  {
    LockGuard guard{lines_lock};
    if (lines[number] == nullptr) {
      lines[number] = std::exchange(fresh, nullptr);
      first = true;
    }
    line = lines[number];
    if (!line->add(handler)) {
      delete fresh;
      return Errno::ebusy;
    }
  }
  delete fresh;
  if (first) TRY(interrupts::router().connect(number, name, *line));
  change_command(space_, function_.address, 0, command_no_intx);
  return {};
}

size_t PciDevice::describe(char* to, size_t size) const {
  const Function& f = function_;
  return format_to({to, size}, "{}:{}.{} vendor {x} device {x} class {x} subclass {x}", f.address.bus, f.address.device,
                   f.address.function, f.vendor, f.device, f.base_class, f.sub_class)
      .size();
}

Result<void> add_all(ConfigSpace& space) {
  struct Context {
    ConfigSpace& space;
    u32 count = 0;
    bool full = false;
  } context{space};
  for_each_function(
      space,
      [](void* pointer, const Function& function) {
        Context& c = *static_cast<Context*>(pointer);
        Result<PciDevice*> made = memory::make<PciDevice>(c.space, function);
        if (!made.ok()) {
          c.full = true;
          return;
        }
        devices().add(*made.value());
        ++c.count;
      },
      &context);
  if (context.full) return Errno::enomem;
  log::info("PCI: {} functions, {} bytes of configuration each", context.count, space.size());
  return {};
}

}  // namespace corral::pci
