// The battery-backed clock (MC146818). Its date is taken as UTC.
// Source: Motorola MC146818A data sheet.
#pragma once

namespace corral::platform {

// Boot context: takes the wall time from it, and offers it to the rooms above (device/real_time_clock.h). Without a valid date
// wall time counts from 1970; without a clock there is none to offer.
void initialise_real_time_clock();

}  // namespace corral::platform
