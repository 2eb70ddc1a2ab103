// SPDX-License-Identifier: Apache-2.0
#include "app/copy.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {{"follow-link", 'L', "", "copy what a link named as the source points to"},
            {"max-file", 0, "SIZE", "refuse a larger file before anything is replaced (limits.maxFile)"}};
}

int run(Invocation& call) {
    const auto& words = call.arguments();
    for (const auto& word : words) {
        if (word == "-") {
            throw Error(ErrorCode::usage, "a tar stream on - is not supported by this version")
                .hint("sandbox exec -i S -- tar -x takes one in, sandbox exec S -- tar -c . gives one out");
        }
    }
    app::CopyOptions copy_options;
    copy_options.follow_link = call.has("follow-link");
    if (const auto text = call.value("max-file")) copy_options.max_file = domain::parse_size(*text);
    const auto stats = app::copy(call.context(), app::parse_location(words[0]), app::parse_location(words[1]),
                                 copy_options);
    if (stats.skipped > 0 && !call.quiet()) {
        say("skipped " + std::to_string(stats.skipped) + (stats.skipped == 1 ? " special file" : " special files") +
            " (sockets and named pipes have no content to copy)");
    }
    if (call.json()) print_out(copy_document(stats));
    return 0;
}

} // namespace

const Command k_cp{
    .name = "cp",
    .alias = "",
    .group = "files",
    .summary = "copy files and directories between the host and a session",
    .usage = "[OPTIONS] SOURCE SESSION:TARGET | SESSION:SOURCE TARGET",
    .min_arguments = 2,
    .max_arguments = 2,
    .positionals = {{"SOURCE", Completer::session_path}, {"TARGET", Completer::session_path}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox cp ticket.txt $S:input/", "sandbox cp $S:output/report.md .",
                                             "sandbox cp ./src/. $S:src", "sandbox cp ./a:b $S:"};
    },
    .details = "Session paths are absolute or relative to the workdir. An existing directory as the target receives the\n"
               "source under its own name; SOURCE/. means its contents. A copy arrives whole or not at all: what can't be\n"
               "read is an error, never left out. It belongs to the session's user on the way in, to you on the way out.",
    .run = run};

} // namespace sandbox::cli
