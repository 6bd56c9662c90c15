// Which pages of an address space are touched: the processor's accessed bits, cleared and looked at again. See address_space.h.
//
// No core is asked for anything: the bits are cleared, and only the calling core forgets its translations. Another one that has a
// page's translation in its TLB uses it without noting so; one that has not sets the bit, and so counts a page that the calling
// core did not touch. A clear bit means nothing to anybody else: rights and frames are untouched, and who changes an entry
// at the same time, under the same lock, sets the bit again or takes the page away.
// A round looks at most at `most_entries` of the table, and the lock is held as long as that takes.
#include "vm/address_space.h"
#include "vm/core_translation.h"

namespace corral::vm {

namespace {

constexpr u32 most_entries = 512;
// After so long the round of a core that has left the space without a word is over (its thread executed another program).
constexpr Duration forgotten = seconds(1);

}  // namespace

bool AddressSpace::begin_access_round(AccessRound& round, Instant now) {
  LockGuard guard{lock_};
  if (access_round_since_ != never && now - access_round_since_ < forgotten) return false;
  const VirtualAddress from = access_cursor_;
  const arch::PageTable::Cleared high = table_.clear_touched(from, {user_end}, most_entries);
  round = {number_, ++access_round_, from, high.next, {}};
  access_cursor_ = high.next;
  if (high.next.value == user_end) {
    round.low_to = access_cursor_ = table_.clear_touched({}, from, most_entries - high.entries).next;
  }
  access_round_since_ = now;
  CoreTranslation::here().forget_touches(*this);
  return true;
}

bool AddressSpace::end_access_round(AccessRound& round, u64& pages) {
  LockGuard guard{lock_};
  const u64 number = round.number;
  round.space = 0;
  if (access_round_ != number) return false;
  access_round_since_ = never;
  const arch::PageTable::Touched high = table_.count_touched(round.from, round.to);
  const arch::PageTable::Touched low = table_.count_touched({}, round.low_to);
  const u64 looked_at = high.pages + low.pages, touched = high.touched + low.touched;
  const bool all = looked_at >= resident_ || looked_at == 0;  // none: what was there has been unmapped
  pages = all ? touched : touched * resident_ / looked_at;
  return true;
}

}  // namespace corral::vm
