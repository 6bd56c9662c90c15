// A device that writes anything into the memory that it shares with the driver. Each request must come back at most once,
// and never with more bytes than it had room for.
// sources: kernel/device/virtio/split_queue.cpp
#include <cstdlib>

#include "support/fake_virtio.h"

extern "C" int LLVMFuzzerTestOneInput(const corral::u8* data, size_t size) {
  using namespace corral;
  using virtio::Descriptor;
  test::FakeVirtio device{8};
  bool under_way[256] = {};
  u8 cookies[256] = {};
  u32 next = 0;
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const u8 what = data[i];
    if (what < 80) {
      Descriptor pieces[3] = {{0x1000, 16, 0, 0}, {0x2000, 100, 2, 0}, {0x3000, 28, 2, 0}};
      const u32 mine = next % 256;
      if (under_way[mine]) continue;
      if (device.queue.add({pieces, 1u + what % 3}, what % 2 == 0 ? 0 : 0x7000, &cookies[mine]).ok()) {
        under_way[mine] = true;
        ++next;
      }
    } else if (what < 160) {
      device.answer(what < 150 ? device.head(data[i + 1]) : data[i + 1], data[i + 2]);
    } else if (what < 180) {
      device.memory[device.parts.used + data[i + 1] % 70] = data[i + 2];
    } else if (what < 200) {
      device.memory[(data[i + 1] * 4u) % device.parts.bytes] = data[i + 2];
    } else {
      virtio::SplitQueue::Completion completion;
      if (!device.queue.take(completion)) continue;
      const auto mine = static_cast<u8*>(completion.cookie) - cookies;
      if (mine < 0 || mine >= 256 || !under_way[mine] || completion.written > 128) std::abort();
      under_way[mine] = false;
    }
  }
  while (void* cookie = device.queue.abandon()) {
    const auto mine = static_cast<u8*>(cookie) - cookies;
    if (!under_way[mine]) std::abort();
    under_way[mine] = false;
  }
  for (const bool left : under_way) {
    if (left) std::abort();
  }
  return 0;
}
