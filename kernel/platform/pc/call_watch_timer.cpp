// See call_watch_timer.h.
#include "platform/pc/call_watch_timer.h"

#include "arch/port_io.h"
#include "platform/pc/io_apic.h"
#include "platform/pc/local_apic.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u32 irq = 0;
constexpr u16 command_port = 0x43;
constexpr u16 channel_0 = 0x40;
constexpr u8 one_shot = 0x30;  // channel 0, low then high byte, mode 0
constexpr u8 read_status = 0xe2;  // read-back: status of channel 0
constexpr u8 status_output = 0x80;
constexpr u8 status_no_count_yet = 0x40;

class Timer final : public CallWatchTimer {
 public:
  void start() override {
    arch::port_write8(command_port, one_shot);
    arch::port_write8(channel_0, 0xff);
    arch::port_write8(channel_0, 0xff);
  }
  bool due() override {
    arch::port_write8(command_port, read_status);
    return (arch::port_read8(channel_0) & (status_output | status_no_count_yet)) == status_output;
  }
  void send_nmi(u32 hardware_id) override { local_apic().send_nmi(hardware_id); }
};
constinit Timer timer;

}  // namespace

void start_call_watch(IoApicRouter& router) {
  // What the firmware had it tick for must not come as an NMI: stopped, unless it is the clock's (clock_choice.cpp).
  if (router.is_free(irq)) arch::port_write8(command_port, one_shot);
  if (!router.connect_nmi(irq).ok()) {
    log::info("call watch: the 8254 cannot send NMIs here; a policy that does not come back is not noticed");
    return;
  }
  call_watch::use(timer);
}

}  // namespace corral::platform
