// SPDX-License-Identifier: Apache-2.0
#include "app/diff.hpp"
#include "cli/documents.hpp"
#include "cli/output.hpp"
#include "cli/spool.hpp"
#include "cli/terminal_text.hpp"
#include "cli/verbs.hpp"
#include "domain/patch.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <cstdint>
#include <map>
#include <unistd.h>

namespace sandbox::cli {
namespace {

using domain::Change;

std::vector<Option> options() {
    return {{"patch", 'p', "", "the changed lines of texts, for git apply or patch -p1"},
            {"all", 0, "", "what is in .git as well"},
            {"exit-code", 0, "", "end with 1 when something changed"}};
}

char letter_of(const Change& change) {
    switch (change.kind) {
    case Change::Kind::added: return 'A';
    case Change::Kind::deleted: return 'D';
    case Change::Kind::unreadable: return '!';
    case Change::Kind::modified: break;
    }
    return change.type ? 'T' : 'M';
}

std::string line_of(const Change& change) {
    const auto& entry = change.entry();
    const std::string name = entry.path + (entry.type == InventoryType::directory ? "/" : "");
    return std::string(1, letter_of(change)) + " " + domain::quoted_path("", name) + "\n";
}

// What is found, in whichever form it was asked for.
class Report {
  public:
    explicit Report(const Invocation& call)
        : m_json(call.json()), m_patch(call.has("patch")), m_is_terminal(!m_json && m_patch && is_terminal(STDOUT_FILENO)) {
        if (m_json) m_out.add("{\"changes\":[");
    }

    void add(const Change& change) {
        ++m_counts[change.kind];
        if (!m_json && !m_patch) return m_out.add(line_of(change));
        domain::Patch patch;
        if (m_patch) patch = domain::patch_of(change);
        if (!patch.is_whole) ++m_untold;
        if (!m_json) return m_out.add(m_is_terminal ? for_terminal(patch.text) : patch.text);
        m_out.add((m_any ? "," : "") + change_object(change, m_patch ? &patch.text : nullptr));
        m_any = true;
    }

    void print() {
        if (m_json) {
            const auto count = [&](const char* name, Change::Kind kind) { return ",\"" + std::string(name) + "\":" + std::to_string(m_counts[kind]); };
            m_out.add("]" + count("added", Change::Kind::added) + count("modified", Change::Kind::modified) +
                      count("deleted", Change::Kind::deleted) + count("unreadable", Change::Kind::unreadable) + "}\n");
        }
        m_out.print();
    }

    bool is_empty() const { return m_counts.empty(); }
    std::uint64_t untold() const { return m_untold; }
    std::uint64_t unreadable() { return m_counts.contains(Change::Kind::unreadable) ? m_counts[Change::Kind::unreadable] : 0; }

  private:
    bool m_json;
    bool m_patch;
    bool m_is_terminal;
    bool m_any = false;
    Spool m_out;
    std::map<Change::Kind, std::uint64_t> m_counts;
    std::uint64_t m_untold = 0;
};

std::string of_them(std::uint64_t count, const std::string& one, const std::string& many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

int run(Invocation& call) {
    app::DiffOptions wanted;
    wanted.paths.assign(call.arguments().begin() + 1, call.arguments().end());
    wanted.repositories = call.has("all");
    wanted.contents = call.has("patch");
    Report report(call);
    app::diff(call.context(), call.arguments().front(), wanted, [&](const Change& change) { report.add(change); });
    report.print();
    if (!call.quiet() && report.untold() > 0) say(of_them(report.untold(), "change is", "changes are") + " only told in the patch, not in it");
    else if (!call.quiet() && report.unreadable() > 0) {
        say(of_them(report.unreadable(), "directory", "directories") + " the session's user cannot read: what changed there is not known");
    }
    return call.has("exit-code") && !report.is_empty() ? 1 : 0;
}

} // namespace

const Command k_diff{
    .name = "diff",
    .alias = "",
    .group = "files",
    .summary = "what changed in a session's workspace since it was created",
    .usage = "[OPTIONS] SESSION [PATH...]",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"PATH", Completer::path_inside, true}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox diff $S", "sandbox diff $S src", "sandbox diff --patch $S | git apply",
                                             "sandbox diff --exit-code $S output || echo changed", "sandbox --json diff $S"};
    },
    .details = "Compared with what was there when the session was made, its files already in: A added, M modified, D deleted,\n"
               "T another type, ! a directory that cannot be read. What is in .git is left out unless --all is given. A file\n"
               "that was written again with the same content is no change as far as that is known: for small files. Looking\n"
               "does not count as use of the session.",
    .run = run};

} // namespace sandbox::cli
