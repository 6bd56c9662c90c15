// The sums in a form for programs: lab/cache_model.py makes tables of it.
#pragma once

#include <span>
#include <string>

#include "parameters.h"
#include "thread_sums.h"

namespace corral::cache_model {

// One line, without its end.
[[nodiscard]] std::string as_json(std::string_view label, const Parameters& parameters, std::span<const Reading> cores,
                                  const ThreadUses& threads);

}  // namespace corral::cache_model
