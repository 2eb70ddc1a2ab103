// SPDX-License-Identifier: Apache-2.0
// What doctor and `inspect --effective` say to people: short lines that fit a terminal of 80 columns.
//
//   print_out(doctor_text(report));
#pragma once

#include "app/doctor.hpp"
#include "app/isolation.hpp"

#include <string>

namespace sandbox::cli {

// Sections of findings; the production checklist is the last one.
std::string doctor_text(const app::DoctorReport& report);
// Only what is not as it should be; empty when all is.
std::string complaints_text(const app::DoctorReport& report);
// One line for each aspect; "!" marks those that differ.
std::string isolation_text(const app::Isolation& isolation);

} // namespace sandbox::cli
