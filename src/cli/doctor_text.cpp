// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_text.hpp"

#include "cli/output.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

constexpr std::size_t k_width = 80;
constexpr std::size_t k_mark = 11; // "  problem  "
constexpr std::size_t k_longest_cell = 40;

// `head`, then the words of the text, in lines that begin below the text's own start.
std::string paragraph(const std::string& head, const std::string& text) {
    std::string out;
    std::string line = head;
    bool is_empty = true;
    for (const auto& word : split(printable(text), ' ')) {
        if (!is_empty && line.size() + 1 + word.size() > k_width) {
            out += line + "\n";
            line = std::string(head.size(), ' ');
            is_empty = true;
        }
        if (!is_empty) line += ' ';
        line += word;
        is_empty = false;
    }
    return out + line + "\n";
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

std::string finding_text(const app::Finding& finding) {
    std::string text = paragraph(padded("  " + std::string(app::finding_status_name(finding.status)), k_mark), finding.what);
    for (const auto& detail : finding.details) text += paragraph(std::string(k_mark, ' ') + "- ", detail);
    // In one line, whatever its length: a command that is copied from here must not have breaks in its quotes.
    if (!finding.fix.empty()) text += std::string(k_mark, ' ') + "fix: " + printable(finding.fix) + "\n";
    return text;
}

std::string repair_text(const app::Repair& repair) {
    std::string text = paragraph(padded(repair.done ? "  done" : "  failed", k_mark), repair.what + (repair.done ? "" : ": " + repair.error));
    if (!repair.warning.empty()) text += paragraph(std::string(k_mark, ' ') + "- ", repair.warning);
    return text;
}

std::string repairs_text(const app::DoctorReport& report) {
    if (report.repairs.empty()) return {};
    std::string text = "repaired\n";
    for (const auto& repair : report.repairs) text += repair_text(repair);
    return text + "\n";
}

std::string checklist_text(const app::DoctorReport& report) {
    std::string text = "checklist for production\n";
    for (const auto& item : report.checklist) {
        using enum app::ChecklistItem::State;
        const char* box = item.state == done ? "  [x] " : item.state == open ? "  [ ] " : "  [?] ";
        text += paragraph(box, item.text);
        if (!item.found.empty()) text += paragraph("      ", item.found);
    }
    return text;
}

} // namespace

std::string doctor_text(const app::DoctorReport& report) {
    std::string text = repairs_text(report);
    std::string section;
    for (const auto& finding : report.findings) {
        if (finding.section != section) text += (section.empty() ? "" : "\n") + finding.section + "\n";
        section = finding.section;
        text += finding_text(finding);
    }
    return text + "\n" + checklist_text(report);
}

std::string complaints_text(const app::DoctorReport& report) {
    std::string text;
    for (const auto& repair : report.repairs) {
        if (!repair.done || !repair.warning.empty()) text += repair_text(repair);
    }
    for (const auto& finding : report.findings) {
        using enum app::FindingStatus;
        if (finding.status == problem || finding.status == warning) text += finding_text(finding);
    }
    return text;
}

std::string isolation_text(const app::Isolation& isolation) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& aspect : isolation.aspects) {
        rows.push_back({aspect.differs ? "!" : " ", aspect.name, shortened(aspect.asked, k_longest_cell), shortened(aspect.engine, k_longest_cell),
                        shortened(aspect.inside.value_or("?"), k_longest_cell)});
    }
    return table({" ", "ASPECT", "ASKED", "ENGINE", "INSIDE"}, rows);
}

} // namespace sandbox::cli
