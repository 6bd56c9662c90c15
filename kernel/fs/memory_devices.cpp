// The devices of /dev that have no hardware behind them, and the table of all of them. See device_files.h.
#include "fs/device_files.h"
#include "fs/disk.h"
#include "fs/pseudo_terminal.h"
#include "fs/terminals.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

enum class Kind : u8 { null, zero, full, random };

constexpr u8 zeros[page_size] = {};

class MemoryDevice final : public OpenFile {
 public:
  MemoryDevice(Ref<Inode> inode, u32 flags, Kind kind) : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, kind_{kind} {}

  Result<u64> read(Thread& thread, Transfer& transfer) override {
    if (kind_ == Kind::null) return u64{0};
    const bool random = kind_ == Kind::random;
    const u64 most = random ? bytes_without_pause / 16 : bytes_without_pause;  // random bytes take longer to make
    for (const u64 before = transfer.done(); transfer.left() > 0;) {
      if (transfer.done() - before >= most) {
        if (pause_step(thread) == Errno::blocked) return Errno::blocked;
        break;
      }
      u8 bytes[256];
      const u64 size = smaller(transfer.left(), random ? sizeof bytes : page_size);
      if (random) fill_random({bytes, size});
      const Result<void> copied = transfer.put(0, random ? bytes : zeros, size);
      if (!copied.ok()) {
        if (copied.error() == Errno::blocked || transfer.done() == 0) return copied.error();
        break;
      }
      transfer.advance(size);
    }
    return transfer.done();
  }
  Result<u64> write(Thread&, Transfer& transfer) override {
    if (kind_ == Kind::full) return Errno::enospc;
    transfer.advance(transfer.left());
    return transfer.done();
  }
  Result<u64> read_at(Thread& thread, u64, Transfer& transfer) override { return read(thread, transfer); }
  Result<u64> write_at(Thread& thread, u64, Transfer& transfer) override { return write(thread, transfer); }
  Result<u64> seek(i64, Whence) override { return u64{0}; }
  // Zeroed memory of the program's own.
  Result<Ref<vm::Backing>> backing() override {
    if (kind_ != Kind::zero) return Errno::enodev;
    return Ref<vm::Backing>{};
  }

 private:
  const Kind kind_;
};

template <Kind K>
Result<Ref<OpenFile>> open_memory(Inode& node, const OpenRequest& request) {
  return Ref<OpenFile>{Ref<MemoryDevice>::adopt(TRY(memory::make<MemoryDevice>(Ref<Inode>::share(node), request.flags, K)))};
}

constexpr DeviceFile table[] = {
    {"null", {1, 3}, 0666, open_memory<Kind::null>},
    {"zero", {1, 5}, 0666, open_memory<Kind::zero>},
    {"full", {1, 7}, 0666, open_memory<Kind::full>},
    {"random", {1, 8}, 0666, open_memory<Kind::random>},
    {"urandom", {1, 9}, 0666, open_memory<Kind::random>},
    {"kmsg", {1, 11}, 0644, open_log},
    {"cpu_dma_latency", {10, 124}, 0600, open_latency_wish},
    {"rtc", {10, 135}, 0600, open_clock},
    {"rtc0", {254, 0}, 0600, open_clock},
    {"trace", {10, 240}, 0400, open_trace},
    {"tty", {5, 0}, 0666, open_own_terminal},
    {"console", {5, 1}, 0600, open_console},
    {"ptmx", {5, 2}, 0666, open_pseudo_terminal},
    {"ttyS0", {4, 64}, 0600, open_console_line},
    {"tty1", {4, 1}, 0600, open_console_line},
};

}  // namespace

std::span<const DeviceFile> device_files() {
  return table;
}

Result<Ref<OpenFile>> open_device(Inode& node, DeviceNumber number, const OpenRequest& request) {
  if (node.type() == FileType::character) {
    if (number.major == PseudoTerminal::device_major) return open_slave(node, number.minor, request);
    for (const DeviceFile& file : table) {
      if (file.number == number) return file.open(node, request);
    }
  }
  if (node.type() == FileType::block) return open_disk(node, number, request);
  return Errno::enxio;
}

}  // namespace corral::fs
