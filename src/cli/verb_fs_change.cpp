// SPDX-License-Identifier: Apache-2.0
// The file tools that change something: fs write, fs mkdir, fs rm.
#include "app/files.hpp"
#include "cli/files_documents.hpp"
#include "cli/fs_places.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

std::optional<std::uint32_t> mode_from(const Invocation& call) {
    const auto text = call.value("mode");
    return text ? std::optional(domain::parse_mode(*text)) : std::nullopt;
}

std::vector<Option> write_options() {
    return {{"append", 'a', "", "add to the end of what is there"},
            {"mode", 'm', "MODE", "its permissions, in octal; else the old file's, or 0644", false, false, Completer::nothing},
            {"parents", 'p', "", "make the directories on the way where they are missing"},
            {"max-file", 0, "SIZE", "refuse a larger file before anything is changed (limits.maxFile)"}};
}

// A script's `<&-` is no empty file.
void expect_input() {
    const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) != O_WRONLY) return;
    throw Error(ErrorCode::io_error, "standard input is closed").hint("</dev/null makes an empty file");
}

int run_write(Invocation& call) {
    const app::Location place = place_in_session(call.arguments().front());
    expect_input();
    channel::WriteFileOptions options;
    options.append = call.has("append");
    options.mode = mode_from(call);
    options.make_parents = call.has("parents");
    if (const auto text = call.value("max-file")) options.max_file = domain::parse_size(*text);
    const auto written = [&] {
        ProgressLine progress(!call.quiet() && !call.json());
        options.progress = [&](std::uint64_t bytes) { progress.add(bytes); };
        return app::write_file(call.context(), place, STDIN_FILENO, options);
    }();
    if (call.json()) print_out(written_document(place, written));
    return 0;
}

std::vector<Option> mkdir_options() {
    return {label_option(),
            {"parents", 'p', "", "make those on the way as well; one that is there is no error"},
            {"mode", 'm', "MODE", "its permissions, in octal; else 0755", false, false, Completer::nothing}};
}

int run_mkdir(Invocation& call) {
    channel::MakeDirectoryOptions options;
    options.mode = mode_from(call);
    options.make_parents = call.has("parents");
    std::vector<std::string> made;
    std::vector<std::string> existing;
    Places places(call);
    places.each([&](const app::Location& place) {
        (app::make_directory(call.context(), place, options) ? made : existing).push_back(name_of_place(place));
    });
    if (call.json()) print_out(made_directories_document(made, existing, places.failures()));
    return places.status();
}

std::vector<Option> rm_options() {
    return {label_option(),
            {"recursive", 'r', "", "directories with all that is in them"},
            {"force", 'f', "", "what is not there is no error"}};
}

int run_rm(Invocation& call) {
    channel::RemoveFileOptions options;
    options.recursive = call.has("recursive");
    options.ignore_missing = call.has("force");
    std::vector<std::string> removed;
    std::vector<std::string> missing;
    std::uint64_t entries = 0;
    Places places(call);
    places.each([&](const app::Location& place) {
        try {
            const auto count = app::remove_file(call.context(), place, options);
            entries += count;
            (count > 0 ? removed : missing).push_back(name_of_place(place));
        } catch (Error& error) {
            if (error.code() == ErrorCode::conflict && error.message().ends_with("is a directory")) error.hint("-r removes it with all that is in it");
            throw;
        }
    });
    if (call.json()) print_out(removed_files_document(removed, missing, entries, places.failures()));
    return places.status();
}

} // namespace

const Command k_fs_write{
    .name = "fs write",
    .alias = "",
    .group = "files",
    .summary = "write standard input to a file in a session",
    .usage = "[OPTIONS] SESSION:PATH",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION:PATH", Completer::session_path}},
    .options = write_options,
    .examples = [] {
        return std::vector<std::string_view>{"date | sandbox fs write $S:input/now.txt", "sandbox fs write -p --mode 0755 $S:bin/run.sh <run.sh",
                                             "echo done | sandbox fs write --append $S:progress.log"};
    },
    .details = "The file changes when all of the input has come, and not at all when the input is cut off or too large. It keeps its\n"
               "mode, and its owner where the session's user may give files away. A link is followed inside the workspace.",
    .run = run_write};

const Command k_fs_mkdir{
    .name = "fs mkdir",
    .alias = "",
    .group = "files",
    .summary = "make directories in a session",
    .usage = "[OPTIONS] SESSION:PATH... | -l KEY=VALUE PATH...",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION:PATH", Completer::session_path, true}},
    .options = mkdir_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox fs mkdir $S:output", "sandbox fs mkdir -p --mode 0700 $S:cache/deep"}; },
    .details = "",
    .run = run_mkdir};

const Command k_fs_rm{
    .name = "fs rm",
    .alias = "",
    .group = "files",
    .summary = "remove files and directories in a session",
    .usage = "[OPTIONS] SESSION:PATH... | -l KEY=VALUE PATH...",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION:PATH", Completer::session_path, true}},
    .options = rm_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox fs rm $S:output/draft.md", "sandbox fs rm -rf $S:node_modules", "sandbox fs rm -rf -l jobId=981 tmp"}; },
    .details = "A link is removed itself. The workdir, and what it is in, are never removed.",
    .run = run_rm};

} // namespace sandbox::cli
