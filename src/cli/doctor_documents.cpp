// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_documents.hpp"

#include "util/text.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text(std::string_view bytes) { return to_valid_utf8(bytes); }
Json text_or_null(std::string_view bytes) { return bytes.empty() ? Json(nullptr) : text(bytes); }

Json finding_of(const app::Finding& finding) {
    Json details = Json::array();
    for (const auto& detail : finding.details) details.push_back(text(detail));
    return {{"section", finding.section},
            {"check", finding.check},
            {"status", app::finding_status_name(finding.status)},
            {"what", text(finding.what)},
            {"fix", text_or_null(finding.fix)},
            {"details", std::move(details)}};
}

} // namespace

std::string doctor_document(const app::DoctorReport& report) {
    Json document{{"healthy", report.is_healthy()}, {"repairs", Json::array()}, {"findings", Json::array()}, {"checklist", Json::array()}};
    for (const auto& repair : report.repairs) {
        document["repairs"].push_back({{"what", text(repair.what)},
                                       {"done", repair.done},
                                       {"error", text_or_null(repair.error)},
                                       {"warning", text_or_null(repair.warning)}});
    }
    for (const auto& finding : report.findings) document["findings"].push_back(finding_of(finding));
    for (const auto& item : report.checklist) {
        document["checklist"].push_back({{"item", item.item},
                                         {"state", app::checklist_state_name(item.state)},
                                         {"text", item.text},
                                         {"found", text_or_null(item.found)}});
    }
    return document.dump() + "\n";
}

} // namespace sandbox::cli
