// SPDX-License-Identifier: Apache-2.0
// The JSON document of doctor.
//
//   print_out(doctor_document(report));
#pragma once

#include "app/doctor.hpp"

#include <string>

namespace sandbox::cli {

std::string doctor_document(const app::DoctorReport& report);

} // namespace sandbox::cli
