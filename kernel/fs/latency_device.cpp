// /dev/cpu_dma_latency: programs that hold it open ask that a sleeping core wakes within so many microseconds. A sleeping core
// here halts and wakes at once, so every wish is granted; they are kept and told. Source: Linux Documentation/power/pm_qos_interface.
#include "fs/device_files.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "sync/spin_lock.h"

namespace corral::fs {

namespace {

constexpr i32 no_wish = 2'000'000'000;  // µs, as Linux has it

class LatencyWish;
constinit SpinLock wishes_lock{Rank::file_end, "latency wishes"};

class LatencyWish final : public OpenFile {
 public:
  LatencyWish(Ref<Inode> inode, u32 flags);
  ~LatencyWish() override;
  // The lowest of all wishes, as a number of 32 bits.
  Result<u64> read(Thread&, Transfer& transfer) override { return tell(0, transfer); }
  Result<u64> read_at(Thread&, u64 offset, Transfer& transfer) override { return tell(offset, transfer); }
  // A number of 32 bits, or as hexadecimal text.
  Result<u64> write(Thread&, Transfer& transfer) override;
  Result<u64> write_at(Thread& thread, u64, Transfer& transfer) override { return write(thread, transfer); }
  Result<u64> seek(i64, Whence) override { return u64{0}; }

  ListLink link;  // guarded by wishes_lock
  i32 wish = no_wish;  // guarded by wishes_lock

 private:
  static Result<u64> tell(u64 offset, Transfer& transfer);
};

constinit IntrusiveList<LatencyWish, &LatencyWish::link> wishes GUARDED_BY(wishes_lock);

LatencyWish::LatencyWish(Ref<Inode> inode, u32 flags) : OpenFile{static_cast<Ref<Inode>&&>(inode), flags} {
  LockGuard guard{wishes_lock};
  wishes.push_back(*this);
}

LatencyWish::~LatencyWish() {
  LockGuard guard{wishes_lock};
  wishes.remove(*this);
}

Result<u64> LatencyWish::tell(u64 offset, Transfer& transfer) {
  i32 lowest = no_wish;
  {
    LockGuard guard{wishes_lock};
    wishes.for_each([&](const LatencyWish& each) {
      if (each.wish < lowest) lowest = each.wish;
    });
  }
  if (offset >= sizeof lowest) return u64{0};
  const u64 size = transfer.left() < sizeof lowest - offset ? transfer.left() : sizeof lowest - offset;
  TRY(transfer.put(0, reinterpret_cast<const u8*>(&lowest) + offset, size));
  transfer.advance(size);
  return transfer.done();
}

// "0x10\n" or "10". einval: anything else.
Result<i32> number_in(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.empty() || text.size() > 8) return Errno::einval;
  u32 value = 0;
  for (const char digit : text) {
    const bool decimal = digit >= '0' && digit <= '9';
    const auto lower = static_cast<char>(digit | 0x20);
    if (!decimal && (lower < 'a' || lower > 'f')) return Errno::einval;
    value = value * 16 + static_cast<u32>(decimal ? digit - '0' : lower - 'a' + 10);
  }
  return static_cast<i32>(value);
}

Result<u64> LatencyWish::write(Thread&, Transfer& transfer) {
  char bytes[12];
  const u64 size = transfer.left();
  if (size == 0 || size > sizeof bytes) return Errno::einval;
  TRY(transfer.get(0, bytes, size));
  i32 value = 0;
  if (size == sizeof value) {
    __builtin_memcpy(&value, bytes, sizeof value);
  } else {
    value = TRY(number_in({bytes, size}));
  }
  {
    LockGuard guard{wishes_lock};
    wish = value < 0 ? no_wish : value;
  }
  transfer.advance(size);
  return transfer.done();
}

}  // namespace

Result<Ref<OpenFile>> open_latency_wish(Inode& node, const OpenRequest& request) {
  return Ref<OpenFile>{Ref<LatencyWish>::adopt(TRY(memory::make<LatencyWish>(Ref<Inode>::share(node), request.flags)))};
}

}  // namespace corral::fs
