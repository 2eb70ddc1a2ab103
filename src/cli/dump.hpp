// SPDX-License-Identifier: Apache-2.0
// All that the command line offers as one JSON document: what man pages and the tests of the documentation are made from.
//
//   print_out(dump_document());
#pragma once

#include <string>

namespace sandbox::cli {

std::string dump_document();

} // namespace sandbox::cli
