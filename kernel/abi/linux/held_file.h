// The file of a call that may wait. It is looked up in the call's first run and held over its waits, so that another thread
// that closes the descriptor meanwhile, or opens something else there, does not change which file the call is about; and
// whoever is woken to use the file does use it.
#pragma once

#include "abi/linux/file_handlers.h"

namespace corral::abi {

class HeldFile {
 public:
  // ebadf.
  static Result<HeldFile> take(Call& call, unsigned index) {
    HeldFile held;
    if (u64& kept = call.thread.step.word[word_file]; kept != 0) {
      held.file_ = Ref<fs::OpenFile>::adopt(reinterpret_cast<fs::OpenFile*>(std::exchange(kept, 0)));
    } else {
      held.file_ = TRY(file_at(call, index));
    }
    return Result<HeldFile>{std::move(held)};
  }
  // The call's answer; when that is blocked the file is kept for the next run.
  Result<i64> answer(Call& call, Result<i64> outcome) {
    if (!outcome.ok() && outcome.error() == Errno::blocked) {
      call.thread.step.word[word_file] = reinterpret_cast<u64>(file_.release());
    }
    return outcome;
  }
  [[nodiscard]] fs::OpenFile& operator*() const { return *file_; }
  fs::OpenFile* operator->() const { return file_.get(); }

 private:
  static constexpr unsigned word_file = 5;  // of the thread's StepState
  HeldFile() = default;
  Ref<fs::OpenFile> file_;
};

}  // namespace corral::abi
