// SPDX-License-Identifier: Apache-2.0
// The file tools that look: fs ls, fs read. Those that change something are in verb_fs_change.cpp.
#include "app/files.hpp"
#include "cli/files_documents.hpp"
#include "cli/fs_places.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/terminal_text.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/stream_writer.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <charconv>
#include <cstdint>
#include <unistd.h>

namespace sandbox::cli {
namespace {

std::vector<Option> ls_options() {
    return {label_option(),
            {"recursive", 'R', "", "what is below directories as well"},
            {"depth", 0, "N", "the same, N levels deep", false, false, Completer::nothing},
            {"directory", 'd', "", "the entry itself, and not what is in it"},
            {"max-entries", 0, "N", "list no more than these (10000)", false, false, Completer::nothing}};
}

std::uint64_t number_from(std::string_view text, std::string_view what) {
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure == std::errc() && end == text.data() + text.size() && number > 0) return number;
    throw Error(ErrorCode::usage, quoted(text) + " is no " + std::string(what)).hint("a whole number from 1 on");
}

channel::ListFilesOptions list_options_from(const Invocation& call) {
    channel::ListFilesOptions options;
    if (call.has("directory") && (call.has("recursive") || call.has("depth"))) {
        throw Error(ErrorCode::usage, "--directory lists one entry, and --recursive and --depth what is below it").hint("leave one of them out");
    }
    if (call.has("directory")) options.depth = 0;
    if (call.has("recursive")) options.depth = channel::k_whole_depth;
    if (const auto text = call.value("depth")) {
        options.depth = static_cast<std::uint32_t>(std::min<std::uint64_t>(number_from(*text, "depth"), channel::k_whole_depth));
    }
    if (const auto text = call.value("max-entries")) options.max_entries = number_from(*text, "number of entries");
    return options;
}

char letter_of(InventoryType type) {
    switch (type) {
    case InventoryType::file: return '-';
    case InventoryType::directory: return 'd';
    case InventoryType::symlink: return 'l';
    case InventoryType::fifo: return 'p';
    case InventoryType::socket: return 's';
    case InventoryType::device: break;
    }
    return 'c';
}

// As ls -l has it: "drwxr-xr-x".
std::string mode_text(const channel::FileEntry& entry) {
    std::string text{letter_of(entry.type)};
    for (int shift = 6; shift >= 0; shift -= 3) {
        const auto bits = entry.mode >> shift;
        text += (bits & 4) != 0 ? 'r' : '-';
        text += (bits & 2) != 0 ? 'w' : '-';
        text += (bits & 1) != 0 ? 'x' : '-';
    }
    constexpr char k_special[] = {'s', 's', 't'};
    for (int i = 0; i < 3; ++i) {
        if ((entry.mode & (04000U >> i)) == 0) continue;
        char& place = text[static_cast<std::size_t>(3 * i + 3)];
        place = static_cast<char>(place == 'x' ? k_special[i] : k_special[i] - 'a' + 'A');
    }
    return text;
}

std::string name_cell(const channel::FileEntry& entry) {
    std::string name = entry.path;
    if (entry.type == InventoryType::directory && !name.ends_with('/')) name += '/';
    if (entry.type == InventoryType::symlink) name += " -> " + entry.link;
    return name;
}

std::string list_text(const channel::FileList& list, bool names_only) {
    if (names_only) {
        std::string text;
        for (const auto& entry : list.entries) text += printable(entry.path) + "\n";
        return text;
    }
    if (list.entries.empty()) return "";
    std::vector<std::vector<std::string>> rows;
    for (const auto& entry : list.entries) {
        rows.push_back({mode_text(entry), std::to_string(entry.uid) + ":" + std::to_string(entry.gid),
                        entry.type == InventoryType::file ? std::to_string(entry.size) : "", rfc3339_of_ns(entry.mtime_ns).substr(0, 19) + "Z", name_cell(entry)});
    }
    return table({"MODE", "OWNER", "SIZE", "MODIFIED", "NAME"}, rows);
}

// A list that is not whole says so however few words are wanted.
void say_what_is_missing(const std::string& place, const channel::FileList& list) {
    for (const auto& entry : list.entries) {
        if (!entry.problem.empty()) say(printable(entry.path) + ": " + printable(entry.problem));
    }
    if (list.truncated) say("the list of " + printable(place) + " ends after " + counted(list.entries.size(), "name") + "; there are more (--max-entries)");
}

int run_ls(Invocation& call) {
    const auto options = list_options_from(call);
    Places places(call);
    std::vector<ListedFiles> all;
    places.each([&](const app::Location& place) { all.push_back({place, app::list_files(call.context(), place, options)}); });
    if (call.json()) {
        print_out(places.is_one() ? list_document(all.front()) : lists_document(all, places.failures()));
        return places.status();
    }
    std::string text;
    for (const auto& one : all) {
        if (all.size() > 1 && !call.quiet()) text += (text.empty() ? "" : "\n") + printable(name_of_place(one.place)) + "\n";
        text += list_text(one.list, call.quiet());
        say_what_is_missing(name_of_place(one.place), one.list);
        if (one.list.entries.empty() && !call.quiet()) say("there is nothing in " + printable(name_of_place(one.place)));
    }
    print_out(text);
    return places.status();
}

std::vector<Option> read_options() {
    return {{"bytes", 0, "START[,COUNT]", "only these bytes; the first one is 0", false, false, Completer::nothing},
            {"lines", 0, "START[,COUNT]", "only these lines; the first one is 1", false, false, Completer::nothing},
            {"tail", 0, "LINES", "only the last so many lines", false, false, Completer::nothing},
            {"max-bytes", 0, "SIZE", "never more than this, cut between lines or characters"}};
}

// "1-5" is what other tools call a range.
void refuse_dash(std::string_view option, const std::string& text) {
    const auto dash = text.find_first_of("-:");
    const bool is_range = dash != std::string::npos && dash > 0 && text.find_first_not_of("0123456789-:") == std::string::npos;
    if (!is_range && !text.starts_with('-')) return;
    throw Error(ErrorCode::usage, "--" + std::string(option) + " " + printable(text) + " is not START or START,COUNT")
        .hint(is_range ? "a start, and how many from there on: --" + std::string(option) + " " + text.substr(0, dash) + ",COUNT" : "--tail LINES reads from the end");
}

// "START" or "START,COUNT".
template <typename Parse> void range_from(std::string_view option, const std::string& text, Parse parse, PageWanted& wanted) {
    refuse_dash(option, text);
    const auto comma = text.find(',');
    wanted.start = parse(text.substr(0, comma));
    if (comma != std::string::npos) wanted.count = parse(text.substr(comma + 1));
}

PageWanted page_from(const Invocation& call) {
    PageWanted wanted;
    const auto bytes = call.value("bytes");
    const auto lines = call.value("lines");
    const auto tail = call.value("tail");
    if ((bytes ? 1 : 0) + (lines ? 1 : 0) + (tail ? 1 : 0) > 1) {
        throw Error(ErrorCode::usage, "of --bytes, --lines and --tail only one can be given").hint("--lines or --tail with --max-bytes is a page of lines with a limit");
    }
    if (bytes) range_from("bytes", *bytes, [](const std::string& text) { return domain::parse_size(text); }, wanted);
    if (lines) {
        wanted.unit = PageUnit::lines;
        range_from("lines", *lines, [](const std::string& text) { return number_from(text, "number of a line, or of lines"); }, wanted);
    }
    if (tail) {
        wanted.unit = PageUnit::last_lines;
        wanted.count = number_from(*tail, "number of lines");
    }
    if (const auto text = call.value("max-bytes")) {
        wanted.max_bytes = domain::parse_size(*text);
        if (wanted.max_bytes == 0) throw Error(ErrorCode::usage, "--max-bytes 0 leaves nothing to read").hint("fs ls -d tells whether there is a file");
    }
    return wanted;
}

// What the bytes on standard output do not say.
void say_where_it_goes_on(const PageWanted& wanted, const channel::FilePage& page) {
    const auto next_byte = page.next_byte();
    if (wanted.unit == PageUnit::last_lines) {
        if (page.range.truncated) say("these are the last " + counted(page.bytes, "byte") + ": the lines asked for are longer");
        return;
    }
    if (!next_byte && page.range.truncated) return say("cut after " + std::to_string(page.bytes) + " bytes: how much more there is, this file does not say");
    if (!next_byte) return;
    const std::string of_all = "byte " + std::to_string(*next_byte) + " of " + std::to_string(page.range.size);
    if (page.range.line_cut) {
        say("line " + std::to_string(wanted.start) + " is too long and cut: it goes on at " + of_all +
            (page.next_line() ? ", the next line is " + std::to_string(*page.next_line()) : std::string()));
    } else if (page.next_line()) {
        say("the next line is " + std::to_string(*page.next_line()) + ", at " + of_all);
    } else if (page.range.truncated) {
        say("cut: it goes on at " + of_all);
    }
}

void read_to_stdout(Invocation& call, const app::Location& place, const PageWanted& wanted) {
    StreamWriter out(STDOUT_FILENO);
    TerminalText text;
    const bool is_shown = is_terminal(STDOUT_FILENO);
    const auto page = app::read_file(call.context(), place, wanted, [&](std::string_view bytes, const std::function<bool(int)>& wait_writable) {
        if (is_shown) out.write(text.add(bytes), wait_writable);
        else out.write(bytes, wait_writable);
    });
    print_out(text.finish());
    if (!call.quiet()) say_where_it_goes_on(wanted, page);
}

int run_read(Invocation& call) {
    const app::Location place = place_in_session(call.arguments().front());
    const PageWanted wanted = page_from(call);
    try {
        if (call.json()) print_out(page_document(place, app::read_text(call.context(), place, wanted)));
        else read_to_stdout(call, place, wanted);
        return 0;
    } catch (Error& error) {
        if (error.code() == ErrorCode::limit_exceeded && error.hint().empty()) error.hint("--lines, --tail, --bytes and --max-bytes read a part of it");
        throw;
    }
}

} // namespace

const Command k_fs_ls{
    .name = "fs ls",
    .alias = "",
    .group = "files",
    .summary = "list files in a session",
    .usage = "[OPTIONS] SESSION:PATH... | -l KEY=VALUE PATH...",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION:PATH", Completer::session_path, true}},
    .options = ls_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox fs ls $S:", "sandbox fs ls -R $S:src", "sandbox fs ls --json --depth 2 $S:/etc",
                                             "sandbox fs ls -d $S:output/report.md", "sandbox fs ls -l app=ci output"};
    },
    .details = "Type, mode, size and time of each entry, the names in a directory in the order of their bytes, those that begin with\n"
               "a dot included. No link below PATH is followed. --quiet gives the names alone, one a line; --json their exact bytes.",
    .run = run_ls};

const Command k_fs_read{
    .name = "fs read",
    .alias = "",
    .group = "files",
    .summary = "write a file of a session, or a part of it, to standard output",
    .usage = "[OPTIONS] SESSION:PATH",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION:PATH", Completer::session_path}},
    .options = read_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox fs read $S:output/report.md", "sandbox fs read --lines 101,50 $S:build.log", "sandbox fs read --tail 20 $S:build.log",
                                             "sandbox fs read --bytes 0,64KiB $S:core", "sandbox fs read --json --lines 1,200 --max-bytes 64KB $S:src/main.c"};
    },
    .details = "What goes on after the part that was read is said on stderr: the next line, and at which byte. Only the part asked\n"
               "for leaves the session, however large the file is. --json holds limits.maxOutput bytes where --max-bytes says nothing.",
    .run = run_read};

} // namespace sandbox::cli
