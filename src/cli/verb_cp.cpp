// SPDX-License-Identifier: Apache-2.0
#include "app/copy.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/stream_writer.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {{"follow-link", 'L', "", "copy what a link named as the source points to"},
            {"max-file", 0, "SIZE", "refuse a larger file before anything is replaced (limits.maxFile)"}};
}

// An archive on a terminal is noise one way and a hang the other way.
void refuse_terminal(int fd, std::string_view what) {
    if (!is_terminal(fd)) return;
    throw Error(ErrorCode::usage, "the tar stream " + std::string(what) + " a terminal")
        .hint("sandbox cp S:PATH - | tar -x takes a tree out, tar -c DIR | sandbox cp - S:PATH brings one in");
}

app::Location other_side(const std::string& word) {
    app::Location location = app::parse_location(word);
    if (word == "-" || location.session.empty()) {
        throw Error(ErrorCode::usage, "- is one side, so the other one must be in a session")
            .hint("a file that is called - is written ./-");
    }
    return location;
}

channel::TransferStats take_archive(Invocation& call, const app::CopyOptions& options) {
    const app::Location target = other_side(call.arguments()[1]);
    refuse_terminal(STDIN_FILENO, "would come from");
    return app::copy_archive_in(call.context(), STDIN_FILENO, target, options);
}

channel::TransferStats give_archive(Invocation& call, const app::CopyOptions& options) {
    const app::Location source = other_side(call.arguments()[0]);
    if (call.json()) throw Error(ErrorCode::usage, "--json and the tar stream both want stdout").hint("leave --json out");
    refuse_terminal(STDOUT_FILENO, "would go to");
    StreamWriter out(STDOUT_FILENO);
    const auto write = [&](std::string_view bytes, const std::function<bool(int)>& wait_writable) { out.write(bytes, wait_writable); };
    return app::copy_archive_out(call.context(), source, write, options);
}

bool is_stdout(const std::string& path) {
    struct stat target {};
    struct stat out {};
    return ::stat(path.c_str(), &target) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 && target.st_dev == out.st_dev && target.st_ino == out.st_ino &&
           !S_ISDIR(target.st_mode);
}

channel::TransferStats copy(Invocation& call, const app::CopyOptions& options) {
    const auto& words = call.arguments();
    if (words[0] == "-") return take_archive(call, options);
    if (words[1] == "-") return give_archive(call, options);
    if (call.json() && is_stdout(words[1])) throw Error(ErrorCode::usage, "--json and the file both want stdout").hint("leave --json out");
    return app::copy(call.context(), app::parse_location(words[0]), app::parse_location(words[1]), options);
}

int run(Invocation& call) {
    app::CopyOptions options;
    options.follow_link = call.has("follow-link");
    if (const auto text = call.value("max-file")) options.max_file = domain::parse_size(*text);
    const auto stats = [&] {
        ProgressLine progress(!call.quiet() && !call.json());
        options.progress = [&](std::uint64_t bytes) { progress.add(bytes); };
        return copy(call, options);
    }();
    if (stats.skipped > 0 && !call.quiet()) {
        say("skipped " + counted(stats.skipped, "special file") +
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
    .summary = "copy files and directories between the host and sessions",
    .usage = "[OPTIONS] SOURCE|- SESSION:TARGET | SESSION:SOURCE TARGET|- | SESSION:SOURCE SESSION:TARGET",
    .min_arguments = 2,
    .max_arguments = 2,
    .positionals = {{"SOURCE", Completer::session_path}, {"TARGET", Completer::session_path}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox cp ticket.txt $S:input/", "sandbox cp $S:output/report.md .",
                                             "sandbox cp ./src/. $S:src", "sandbox cp ./a:b $S:",
                                             "tar -c src | sandbox cp - $S:.", "sandbox cp $S:output - | tar -x",
                                             "sandbox cp build:out test:in"};
    },
    .details = "Session paths are absolute or relative to the workdir. An existing directory as the target receives the\n"
               "source under its own name; SOURCE/. means its contents. A copy arrives whole or not at all: what can't be\n"
               "read is an error, never left out. It belongs to the session's user on the way in, to you on the way out.\n"
               "Hard links stay links and user xattrs are kept, where the file system keeps any. For - a tar stream,\n"
               "plain or packed by gzip or zstd, comes from stdin into an existing directory, or a plain one goes to stdout.",
    .run = run};

} // namespace sandbox::cli
